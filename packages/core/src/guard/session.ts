import { chainOf } from '../classify/chain.js'
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

interface Kept {
  readonly session: Session
  readonly guard: object
  /** Its place in the order of all sessions. */
  readonly place: number
}

/** Its constructor hands back what it is given, so that a class that extends it lays its private field in there. */
class Given {
  constructor(object: object) {
    return object
  }
}

/**
 * Sessions lie in their errors, where nobody else can see them: no key, no symbol, nothing that is copied or printed. A
 * WeakMap does the same, and costs as much as an attempt.
 */
class Marked extends Given {
  #kept: Kept

  private constructor(error: object, kept: Kept) {
    super(error)
    this.#kept = kept
  }

  static keep(error: object, kept: Kept): void {
    if (#kept in error) error.#kept = kept
    else new Marked(error, kept)
  }

  static of(error: object): Kept | undefined {
    return #kept in error ? error.#kept : undefined
  }
}

/** Those behind objects that take no more fields, where an engine holds that against private ones too. */
const others = new WeakMap<object, Kept>()
let count = 0
const NONE: readonly Session[] = []

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** How many sessions were ever kept. */
export const sessionsKept = (): number => count

/** Remembers the session behind an error that a guard throws; one that is no object cannot be remembered. */
export function keepSession(error: unknown, session: Session, guard: object): void {
  const kept: Kept = { session, guard, place: ++count }
  if (!isObject(error)) return
  try {
    Marked.keep(error, kept)
  } catch {
    others.set(error, kept)
  }
}

/** Lets another error stand for the same session. */
export function passSessionOn(from: unknown, to: unknown): void {
  const kept = keptFor(from)
  if (kept !== undefined && to !== from) keepSession(to, kept.session, kept.guard)
}

const keptFor = (error: unknown): Kept | undefined =>
  isObject(error) ? (Marked.of(error) ?? others.get(error)) : undefined

/**
 * The sessions of other guards' calls that ended after `since` with this error or with one behind it: those inside the
 * attempt. One that lies inside another of them is listed there.
 */
export function innerSessions(error: unknown, guard: object, since: number): readonly Session[] {
  if (count === since) return NONE
  const found: Session[] = []
  for (const node of chainOf(error).nodes) {
    const kept = keptFor(node)
    if (kept === undefined || kept.guard === guard || kept.place <= since) continue
    if (!found.some(({ inner }) => inner?.includes(kept.session))) found.push(kept.session)
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
  return keptFor(error)?.session
}
