import { DAY_MS } from '@holdfast/records'

/** What `dead_letters` says in the file. Read anew for every entry, so that a reload takes effect at once. */
export interface DeadLetterOptions {
  /** Whether failed calls with a payload are kept. @defaultValue true */
  readonly enabled: boolean
  /** The operations that may have dead letters. @defaultValue any */
  readonly operations?: readonly string[] | undefined
  /** Kinds of failure that are not worth keeping. @defaultValue none */
  readonly skipKinds: readonly string[]
  /** The module whose exports replay entries, keyed by operation. @defaultValue none */
  readonly handlersFile?: string | undefined
  /** How many entries may wait, completed ones not counted. @defaultValue 100 000 */
  readonly maxEntries: number
  /** Milliseconds after which an entry is let go of. @defaultValue 30 days */
  readonly maxAge: number
  /** The largest payload, in bytes of JSON. @defaultValue 1 048 576 */
  readonly maxPayload: number
  /** At `maxEntries`: what cannot be kept is reported, or calls with a payload are refused. @defaultValue report */
  readonly whenFull: 'report' | 'refuse'
  /** The keys of payloads, newest first. @defaultValue none: payloads are stored as they are */
  readonly encryptionKey?: string | readonly string[] | undefined
}

/** What holds where the file says nothing. */
export const DEAD_LETTER_DEFAULTS: DeadLetterOptions = Object.freeze({
  enabled: true,
  skipKinds: Object.freeze([]),
  maxEntries: 100_000,
  maxAge: 30 * DAY_MS,
  maxPayload: 1_048_576,
  whenFull: 'report',
})
