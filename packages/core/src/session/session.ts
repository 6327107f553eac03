import { readCauseChain } from '../classify/cause-chain.js'
import type { StopReason } from '../retry/decide.js'

/** One attempt of a call, written down because the call failed at least once. */
export interface AttemptRecord {
  /** 1 for the first. */
  readonly number: number
  /** When it began, in epoch milliseconds. */
  readonly timestamp: number
  /** The wait before it, in milliseconds. */
  readonly delay: number
  /**
   * How long it took, in milliseconds. For the first attempt of calls that come less than 50 µs apart it may include what
   * the program did between them, in the same turn of the event loop.
   */
  readonly duration: number
  /** How it ended: `timeout` for any failure of that kind, `circuit_open` where it was refused before it began. */
  readonly outcome: 'success' | 'failure' | 'timeout' | 'circuit_open'
  /** What it threw. */
  readonly error?: unknown
  /** The pool's member it went to. */
  readonly memberId?: string
  /** The HTTP status behind its outcome, where there is one. */
  readonly statusCode?: number
  /** What the attempt noted about itself. */
  readonly context?: object
}

/** A call that failed, with all its attempts. */
export interface Session {
  /** The guard's name. */
  readonly operation?: string
  /** Its attempts in order; none where it was aborted before the first. */
  readonly attempts: AttemptRecord[]
  readonly success: boolean
  /** Why it ended. */
  readonly stopped: StopReason
  /** The sessions of guarded calls inside its attempts that failed. */
  readonly inner?: Session[]
}

interface SessionEntry {
  readonly session: Session
  readonly guard: object
  /** Its position in the order of all sessions. */
  readonly sequence: number
}

/** Returns the given object from its constructor, so that a subclass adds its private field to that object. */
class ReturnsObject {
  constructor(object: object) {
    return object
  }
}

/**
 * Stores a session in a private field of its error: invisible, not copied and not printed. A WeakMap does the same and costs
 * as much as an attempt.
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

/** Sessions of objects that are not extensible, where an engine refuses private fields on them too. */
const entriesOfFrozen = new WeakMap<object, SessionEntry>()
let lastSequence = 0
const NO_SESSIONS: readonly Session[] = []

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** The sequence number of the latest session. */
export const sessionSequence = (): number => lastSequence

/** Attaches a session to the error that a guard throws. A thrown value that is not an object has no session. */
export function attachSession(error: unknown, session: Session, guard: object): void {
  const entry: SessionEntry = { session, guard, sequence: ++lastSequence }
  if (!isObject(error)) return
  try {
    ErrorWithSession.set(error, entry)
  } catch {
    entriesOfFrozen.set(error, entry)
  }
}

/** Attaches the session of one error to another. */
export function transferSession(from: unknown, to: unknown): void {
  const entry = entryOf(from)
  if (entry !== undefined && to !== from) attachSession(to, entry.session, entry.guard)
}

const entryOf = (error: unknown): SessionEntry | undefined =>
  isObject(error) ? (ErrorWithSession.get(error) ?? entriesOfFrozen.get(error)) : undefined

/**
 * The sessions of other guards' calls that ended after `since` with this error or one of its causes: those inside the
 * attempt. A session that is an inner session of another is listed there.
 */
export function innerSessions(error: unknown, guard: object, since: number): readonly Session[] {
  if (lastSequence === since) return NO_SESSIONS
  const found: Session[] = []
  for (const node of readCauseChain(error).nodes) {
    const entry = entryOf(node)
    if (entry === undefined || entry.guard === guard || entry.sequence <= since) continue
    if (!found.some(({ inner }) => inner?.includes(entry.session))) found.push(entry.session)
  }
  return found
}

/**
 * Every attempt behind an error that a guard threw; undefined for any other error. The error itself is untouched. Of
 * nested guards it is the outermost one's, with those inside under `inner`, also where their errors are the causes of
 * what was thrown; of two calls that threw one object, the later one's. A guard inside itself is not told from one that
 * runs beside itself, and not listed. A thrown value that is not an object has none.
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
export function sessionOf(error: unknown): Session | undefined {
  return entryOf(error)?.session
}
