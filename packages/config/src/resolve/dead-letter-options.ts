import { CONFIG_DEFAULTS } from '../defaults.js'

/** The options under `dead_letters`. They are read for every entry, so that a reload takes effect at once. */
export interface DeadLetterOptions {
  /** Whether failed calls with a payload are stored. @defaultValue true */
  readonly enabled: boolean
  /** The operations that may have dead letters. @defaultValue any */
  readonly operations?: readonly string[] | undefined
  /** Kinds of failure that are not stored. @defaultValue none */
  readonly skipKinds: readonly string[]
  /** The module whose exports replay entries, keyed by operation. @defaultValue none */
  readonly handlersFile?: string | undefined
  /** The maximum number of waiting entries; completed ones do not count. @defaultValue 100 000 */
  readonly maxEntries: number
  /** The age in milliseconds at which an entry is deleted. @defaultValue 30 days */
  readonly maxAge: number
  /** The largest payload, in bytes of JSON. @defaultValue 1 048 576 */
  readonly maxPayload: number
  /** At `maxEntries`: report entries that cannot be stored, or reject calls with a payload. @defaultValue report */
  readonly whenFull: 'report' | 'refuse'
  /** The encryption keys of payloads, newest first. @defaultValue none: payloads are not encrypted */
  readonly encryptionKey?: string | readonly string[] | undefined
}

/** The default options. */
export const DEAD_LETTER_DEFAULTS: DeadLetterOptions = Object.freeze({
  ...CONFIG_DEFAULTS.deadLetters,
  skipKinds: Object.freeze([]),
})
