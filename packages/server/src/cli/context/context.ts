import type { CommandIo } from './io.js'

/** The options of every command. */
export interface GlobalOptions {
  config?: string
  url?: string
  token?: string
  json?: boolean
}

/** The environment and the global options of a command. */
export interface CommandContext {
  readonly io: CommandIo
  readonly globalOptions: GlobalOptions
}

/** The URL of the server, if one is given. An empty variable counts as not given. */
export const serverUrl = ({ globalOptions, io }: CommandContext): string | undefined =>
  globalOptions.url ?? (io.env.HOLDFAST_URL || undefined)

/** The result of a command: its exit code; undefined means 0. */
export type ActionResult = Promise<number | undefined> | Promise<void>
