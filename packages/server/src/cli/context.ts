import type { Io } from './io.js'

/** The options that every command takes. */
export interface Shared {
  config?: string
  url?: string
  token?: string
  json?: boolean
}

/** What a command is given besides its own words. */
export interface Context {
  readonly io: Io
  readonly shared: Shared
}

/** The server that is asked, where one is named. A variable that is empty names none. */
export const serverOf = ({ shared, io }: Context): string | undefined =>
  shared.url ?? (io.env.HOLDFAST_URL || undefined)

/** A command at work: what it resolves with is the number it ends with; nothing is 0. */
export type Work = Promise<number | undefined> | Promise<void>
