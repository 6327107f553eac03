import { readCauseChain } from '../classify/cause-chain.js'
import type { StopReason } from '../retry/stop-reason.js'
import { sharedByAllCopies } from '../shared-registry.js'

/** The record of one attempt, kept if the call failed at least once. */
export interface AttemptRecord {
  /** The number of the attempt, 1 for the first. */
  readonly number: number
  /** When the attempt started, in epoch milliseconds. */
  readonly timestamp: number
  /** The delay before the attempt, in milliseconds. */
  readonly delay: number
  /**
   * The duration of the attempt, in milliseconds. For the first attempts of calls that start less than 50 µs apart it can
   * include the time between these calls, within one turn of the event loop.
   */
  readonly duration: number
  /** The outcome: `timeout` for any failure of that kind, `circuit_open` if the attempt was rejected before it started. */
  readonly outcome: 'success' | 'failure' | 'timeout' | 'circuit_open'
  /** The error that the attempt threw. */
  readonly error?: unknown
  /** The pool member that the attempt was sent to. */
  readonly memberId?: string
  /** The HTTP status of the outcome, if there is one. */
  readonly statusCode?: number
  /** The fields that the function passed to `note`. */
  readonly context?: object
}

export const ATTEMPT_OUTCOMES = [
  'success',
  'failure',
  'timeout',
  'circuit_open',
] as const satisfies readonly AttemptRecord['outcome'][]

/** The record of a call with all its attempts. */
export interface Session {
  /** The guard's name. */
  readonly operation?: string
  /** The attempts in order; empty if the call was aborted before the first. */
  readonly attempts: AttemptRecord[]
  /** Whether an attempt succeeded. */
  readonly success: boolean
  /** Why the call ended. */
  readonly stopped: StopReason
  /** The sessions of failed guarded calls inside the attempts. */
  readonly inner?: Session[]
  /** The source of the value of a call without success; absent if the call has no value, or that of an attempt. */
  readonly served?: 'fallback'
}

interface SessionEntry {
  readonly session: Session
  readonly guard: object
  /** The position of the session in the order of all sessions. */
  readonly sequence: number
  /** Whether the call, or one inside it that ended with the same error, used up its retries. */
  readonly isExhausted: boolean
}

/** Its constructor returns the given object, so that a subclass adds its private field to that object. */
class ReturnsObject {
  constructor(object: object) {
    return object
  }
}

/**
 * Stores a session in a private field of its error, which is invisible, not copied and not printed. A WeakMap would do the same
 * but takes as long as an attempt.
 */
class ErrorWithSession extends ReturnsObject {
  #entry: SessionEntry

  private constructor(error: object, entry: SessionEntry) {
    super(error)
    this.#entry = entry
  }

  static set(error: object, entry: SessionEntry): void {
    if (#entry in error) error.#entry = entry
    else new ErrorWithSession(error, entry)
  }

  static get(error: object): SessionEntry | undefined {
    return #entry in error ? error.#entry : undefined
  }
}

/** The sessions of the errors that all copies of this package in the process threw. */
interface SessionRegistry {
  /** The sequence number of the latest session. */
  lastSequence: number
  set(error: object, entry: SessionEntry): void
  get(error: object): SessionEntry | undefined
}

function createSessionRegistry(): SessionRegistry {
  // Sessions of objects that are not extensible, for engines that reject private fields on them.
  const entriesOfFrozen = new WeakMap<object, SessionEntry>()
  return {
    lastSequence: 0,
    set(error, entry) {
      try {
        ErrorWithSession.set(error, entry)
      } catch {
        entriesOfFrozen.set(error, entry)
      }
    },
    get: (error) => ErrorWithSession.get(error) ?? entriesOfFrozen.get(error),
  }
}

/** The number at the end grows with each change of the registry or its entries. */
const registry = /* @__PURE__ */ sharedByAllCopies('sessions.1', createSessionRegistry)
const NO_ENTRIES: readonly SessionEntry[] = []

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** The sequence number of the latest session. */
export const sessionSequence = (): number => registry.lastSequence

/** Attaches a session to the error or response that a call ends with. A value that is not an object has no session. */
export function attachSession(result: unknown, session: Session, guard: object, isExhausted: boolean): void {
  const entry: SessionEntry = { session, guard, sequence: ++registry.lastSequence, isExhausted }
  if (isObject(result)) registry.set(result, entry)
}

/** Attaches the session of one error to another. */
export function transferSession(from: unknown, to: unknown): void {
  const entry = entryOf(from)
  if (entry !== undefined && to !== from) attachSession(to, entry.session, entry.guard, entry.isExhausted)
}

const entryOf = (error: unknown): SessionEntry | undefined =>
  isObject(error) ? registry.get(error) : undefined

/**
 * Returns the sessions of failed calls of other guards that ended after `since` with this error or one of its causes: those inside the
 * attempt. A session that is an inner session of another found one is left out.
 */
export function innerSessions(error: unknown, guard: object, since: number): readonly Session[] {
  const found: Session[] = []
  for (const { session } of innerEntries(error, guard, since))
    if (!found.some(({ inner }) => inner?.includes(session))) found.push(session)
  return found
}

/** Whether a call of another guard that ended after `since` with this error or one of its causes used up its retries. */
export const hasExhaustedSession = (error: unknown, guard: object, since: number): boolean =>
  innerEntries(error, guard, since).some(({ isExhausted }) => isExhausted)

function innerEntries(error: unknown, guard: object, since: number): readonly SessionEntry[] {
  if (registry.lastSequence === since) return NO_ENTRIES
  return readCauseChain(error)
    .nodes.map(entryOf)
    .filter(
      (entry): entry is SessionEntry =>
        entry !== undefined && entry.guard !== guard && entry.sequence > since && !entry.session.success,
    )
}

/**
 * Returns the session of the call that ended with this error, with all its attempts; undefined for an error that no guard
 * threw, and for a thrown value that is not an object. A response of `createFetch` has a session too, even if the request
 * succeeded. The error or response itself is not changed. With nested guards it is the session of the outermost guard, and
 * sessions of inner guards are under `inner`, even if their errors are causes of the thrown error. If two calls threw
 * the same object, it is the session of the later call. A call inside another call of the same guard is not listed, because
 * it cannot be distinguished from a parallel call.
 *
 * @example
 * ```ts
 * import { guard, sessionOf } from 'holdfast'
 *
 * const flaky = guard({ name: 'flaky', retry: { maxAttempts: 2, backoffType: 'immediate' } })
 * const error = await flaky.run(() => { throw new Error('down') }).catch((e) => e)
 * error.message // => 'down'
 * sessionOf(error)?.attempts.length // => 2
 * sessionOf(error)?.stopped // => 'attempts_spent'
 * ```
 */
export function sessionOf(result: unknown): Session | undefined {
  return entryOf(result)?.session
}
