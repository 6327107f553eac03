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

/** A command at work: what it resolves with is the number it ends with; nothing is 0. */
export type Work = Promise<number | undefined> | Promise<void>
