import { runOutsideContext } from './async-context.js'

/**
 * The two clocks and the timer that everything in Holdfast is given, so that tests can hold time in their hand.
 * `now` is monotonic and decides; `wall` is epoch milliseconds and is only ever written down.
 */
export interface Clock {
  /** Monotonic milliseconds. Its zero means nothing; only differences do. */
  now(): number
  /** Epoch milliseconds. It may step, so nothing is decided by it. */
  wall(): number
  /** Calls `fn` once, not before `ms` have passed. Infinity is never. */
  setTimer(fn: () => void, ms: number): unknown
  /** Forgets a timer. Clearing one that has fired does nothing. */
  clearTimer(handle: unknown): void
}

/** A source of chance: a number in [0, 1). */
export type Random = () => number

/** What the platform offered when this module was loaded. `performance` is a getter that costs as much as the reading. */
const platform = { performance: globalThis.performance, Date, setTimeout }

/**
 * Whether a test runner has replaced the timers. Both are plain globals, which the compiler treats as constants until
 * somebody replaces them: asking costs nothing.
 */
const isFaked = (): boolean => setTimeout !== platform.setTimeout || Date !== platform.Date

/** The replaced clock in use, and what is added to its readings so that time goes on from where it was. */
let faked: { now(): number } | undefined
let fakedOffset = 0

/** Monotonic time where timers are replaced: by the replaced `performance`; else, where only the others are, by `Date`. */
function readFakedTime(): number {
  const { performance } = globalThis
  const { performance: real } = platform
  const isPerformanceReal = performance === real
  const isDateLeading = isPerformanceReal && setTimeout !== platform.setTimeout && Date !== platform.Date
  if (isPerformanceReal && !isDateLeading) return real.now()
  const source = isDateLeading ? Date : performance
  if (source !== faked) {
    faked = source
    // A replaced `performance` counts from 0, a replaced `Date` from the present. In whole milliseconds, so that sums of
    // readings and durations stay exact.
    fakedOffset = Math.round(real.now() - (isDateLeading ? platform.Date.now() : 0))
  }
  return source.now() + fakedOffset
}

/** Identifies the timers in use: a test runner that replaces or restores them changes it, and earlier timers never fire. */
export const timersInUse = (): unknown => setTimeout

const readTime = (): number => (isFaked() ? readFakedTime() : platform.performance.now())

/** The longest wait that a platform timer takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Platform timers run on a clock of whole milliseconds and may fire this much before their time. */
export const EARLY_MS = 2

class SystemTimer {
  private handle: ReturnType<typeof setTimeout> | undefined
  private readonly fn: () => void
  private readonly dueAt: number

  constructor(fn: () => void, ms: number) {
    this.fn = fn
    this.dueAt = readTime() + ms
    this.schedule(ms)
  }

  private schedule(ms: number): void {
    this.handle = setTimeout(this.onTimer, Math.min(MAX_TIMER_MS, Math.ceil(ms)), ms > MAX_TIMER_MS)
  }

  private readonly onTimer = (chunk: boolean): void => {
    const remaining = this.dueAt - readTime()
    // A last chunk that is far too early means that the platform's timers are faked: they are right then.
    if (chunk ? remaining > 0 : remaining > 0 && remaining <= EARLY_MS) this.schedule(remaining)
    else this.fn()
  }

  clear(): void {
    clearTimeout(this.handle)
  }

  /** Does not keep the process alive, where the platform has such timers. */
  unref(): void {
    ;(this.handle as { unref?(): void } | undefined)?.unref?.()
  }
}

/** The clock of the machine: the default everywhere. */
export const systemClock: Clock = {
  now: readTime,
  wall: () => Date.now(),
  setTimer: (fn, ms) => new SystemTimer(fn, ms > 0 ? ms : 0),
  clearTimer: (handle) => {
    if (handle instanceof SystemTimer) handle.clear()
  },
}

/** The chance of the machine: the default everywhere. */
export const systemRandom: Random = () => Math.random()

/** How many calls in a burst share one reading of the clock, and how close (ms) readings must be to be a burst. */
const BURST_CALLS = 63
const BURST_GAP_MS = 0.05

let burstStartTime = 0
let burstReadsLeft = 0
let burstStartedAt = Number.NEGATIVE_INFINITY

function endBurst(): void {
  burstReadsLeft = 0
  burstStartedAt = Number.NEGATIVE_INFINITY
}

/**
 * When an attempt began, for records only, never for decisions. Reading the clock costs half of a bare call, so calls
 * less than 50 µs apart share a reading, for 64 calls and a turn of the event loop at the most; any other call reads
 * the clock. Only the system's clock is ever spared.
 */
export function approximateStartTime(clock: Clock): number {
  if (clock !== systemClock || isFaked()) return clock.now()
  if (burstReadsLeft > 0) {
    burstReadsLeft--
    return burstStartTime
  }
  const now = platform.performance.now()
  if (now - burstStartTime < BURST_GAP_MS) {
    burstReadsLeft = BURST_CALLS
    if (now - burstStartedAt > 100) {
      burstStartedAt = now
      runOutsideContext(() => setTimeout(endBurst, 1))
    }
  }
  burstStartTime = now
  return now
}

let cachedWallOffset = 0
let wallOffsetReadAt = Number.NEGATIVE_INFINITY

/** How far the wall clock is ahead of the other; of the system's clock it is looked up once a millisecond at the most. */
export function wallOffset(clock: Clock, now: number): number {
  if (clock !== systemClock || isFaked()) return clock.wall() - now
  if (!(now - wallOffsetReadAt < 1)) {
    cachedWallOffset = Date.now() - now
    wallOffsetReadAt = now
  }
  return cachedWallOffset
}

type ScheduleMacrotask = (fn: () => void) => unknown

const scheduleMacrotask: ScheduleMacrotask =
  (globalThis as { setImmediate?: ScheduleMacrotask }).setImmediate ?? ((fn) => setTimeout(fn, 0))

/** Resolves after one turn of the event loop, in which promises that wait for nothing else settle. */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => scheduleMacrotask(resolve))
}

/** A call that may make more attempts than this is taken for one whose attempts never end. */
const MAX_FINITE_ATTEMPTS = 1_000_000

/** How many calls are between two attempts, waiting for nothing but a turn of the event loop: those that end, and others. */
let yielding = 0
let yieldingEndlessly = 0

/** Gives the event loop a turn between two attempts of a call that may make `maxAttempts`. */
export async function yieldTurn(maxAttempts: number): Promise<void> {
  const isEndless = maxAttempts > MAX_FINITE_ATTEMPTS
  if (isEndless) yieldingEndlessly++
  else yielding++
  await nextMacrotask()
  if (isEndless) yieldingEndlessly--
  else yielding--
}

/** For so many turns time waits for calls whose attempts never end. */
const MAX_ENDLESS_TURNS = 150

/** Resolves when every call has got as far as it can without time passing. */
export async function allSettled(): Promise<void> {
  for (
    let turns = 0;
    turns === 0 || yielding > 0 || (yieldingEndlessly > 0 && turns < MAX_ENDLESS_TURNS);
    turns++
  )
    await nextMacrotask()
}
