import type { CommandIo } from './io.js'

/** The options that every command takes. */
export interface GlobalOptions {
  config?: string
  url?: string
  token?: string
  json?: boolean
}

/** What a command is given besides its own words. */
export interface CommandContext {
  readonly io: CommandIo
  readonly globalOptions: GlobalOptions
}

/** The server that is asked, where one is named. A variable that is empty names none. */
export const serverUrl = ({ globalOptions, io }: CommandContext): string | undefined =>
  globalOptions.url ?? (io.env.HOLDFAST_URL || undefined)

/** A command at work: what it resolves with is the number it ends with; nothing is 0. */
export type ActionResult = Promise<number | undefined> | Promise<void>
