import { runOutsideContext } from './async-context.js'

/**
 * The source of time for everything in Holdfast, so that tests can control it. Decisions use `now`, which is monotonic;
 * `wall` is epoch milliseconds and is used in records only.
 */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary moment; only differences have a meaning. */
  now(): number
  /** Epoch milliseconds. The system time can be changed at any moment, so no decision uses it. */
  wall(): number
  /** Calls `fn` once, not before `ms` milliseconds have passed; never if `ms` is Infinity. */
  setTimer(fn: () => void, ms: number): unknown
  /** Cancels a timer. Does nothing if it has fired. */
  clearTimer(handle: unknown): void
}

/** A source of random numbers from 0 up to, but not including, 1. */
export type Random = () => number

/** The platform's functions when this module was loaded. `globalThis.performance` is a getter as slow as the reading itself. */
const platform = /* @__PURE__ */ readPlatform()

function readPlatform() {
  return { performance: globalThis.performance, Date, setTimeout }
}

/**
 * Whether a test runner has replaced the timers. Both are plain globals, which V8 treats as constants until they are replaced,
 * so that the check costs nothing.
 */
const isFaked = (): boolean => setTimeout !== platform.setTimeout || Date !== platform.Date

/** The replaced clock in use, and the offset that is added to its readings so that time continues where it was. */
let fakedSource: { now(): number } | undefined
let fakedOffset = 0

/** Monotonic time while timers are replaced: from the replaced `performance`, or from `Date` where only the others are replaced. */
function readFakedTime(): number {
  const { performance } = globalThis
  const { performance: real } = platform
  const isPerformanceReal = performance === real
  const isDateLeading = isPerformanceReal && setTimeout !== platform.setTimeout && Date !== platform.Date
  if (isPerformanceReal && !isDateLeading) return real.now()
  const source = isDateLeading ? Date : performance
  if (source !== fakedSource) {
    fakedSource = source
    // A replaced `performance` counts from 0, a replaced `Date` from the present. The offset is in whole milliseconds, so that
    // sums of readings and durations stay exact.
    fakedOffset = Math.round(real.now() - (isDateLeading ? platform.Date.now() : 0))
  }
  return source.now() + fakedOffset
}

/** The `setTimeout` in use. It changes when a test runner replaces or restores the timers; those set before then never fire. */
export const readSetTimeout = (): unknown => setTimeout

const readTime = (): number => (isFaked() ? readFakedTime() : platform.performance.now())

/** The longest delay of a platform timer; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647

/** Platform timers use whole milliseconds and can fire too early by up to this time. */
export const MAX_EARLY_MS = 2

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

  private readonly onTimer = (isPartial: boolean): void => {
    const remaining = this.dueAt - readTime()
    // A last chunk that is far too early means that the platform's timers are faked, and then the timer is right.
    if (isPartial ? remaining > 0 : remaining > 0 && remaining <= MAX_EARLY_MS) this.schedule(remaining)
    else this.fn()
  }

  clear(): void {
    clearTimeout(this.handle)
  }

  /** Lets the process exit while the timer is pending, where the platform supports that. */
  unref(): void {
    ;(this.handle as { unref?(): void } | undefined)?.unref?.()
  }
}

/** The system clock, which is the default of guards, breakers and pools. */
export const systemClock: Clock = {
  now: readTime,
  wall: () => Date.now(),
  setTimer: (fn, ms) => new SystemTimer(fn, ms > 0 ? ms : 0),
  clearTimer: (handle) => {
    if (handle instanceof SystemTimer) handle.clear()
  },
}

/** The platform's clocks and timers without the additions of {@link systemClock}, for small bundles. */
export const platformClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimer: (fn, ms) => setTimeout(fn, ms),
  clearTimer: (timer) => clearTimeout(timer as number),
}

/** `Math.random`, which is the default everywhere. */
export const systemRandom: Random = () => Math.random()

/** How many more calls of a burst share one reading of the clock. */
const BURST_CALLS = 63
/** Calls that are less than this apart form a burst. */
const BURST_GAP_MS = 0.05
/** A timer that has not ended its burst after this time counts as lost, and another one is set. */
const LOST_BURST_TIMER_MS = 100

let burstStartTime = 0
let burstReadsLeft = 0
let burstStartedAt = -Infinity

function endBurst(): void {
  burstReadsLeft = 0
  burstStartedAt = -Infinity
}

/**
 * The start time of an attempt, for records and never for decisions. Reading the clock takes half as long as a bare call, so
 * calls less than 50 µs apart share a reading, at most 64 calls within one turn of the event loop; any other call reads the
 * clock. A user's clock is always read.
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
    if (now - burstStartedAt > LOST_BURST_TIMER_MS) {
      burstStartedAt = now
      runOutsideContext(() => setTimeout(endBurst, 1))
    }
  }
  burstStartTime = now
  return now
}

let cachedWallOffset = 0
let wallOffsetReadAt = -Infinity

/** The difference between the wall clock and the monotonic clock. That of the system clock is read at most once a millisecond. */
export function wallOffset(clock: Clock, now: number): number {
  if (clock !== systemClock || isFaked()) return clock.wall() - now
  if (!(now - wallOffsetReadAt < 1)) {
    cachedWallOffset = Date.now() - now
    wallOffsetReadAt = now
  }
  return cachedWallOffset
}

type ScheduleMacrotask = (fn: () => void) => unknown

const scheduleMacrotask = /* @__PURE__ */ findMacrotaskScheduler()

function findMacrotaskScheduler(): ScheduleMacrotask {
  return (globalThis as { setImmediate?: ScheduleMacrotask }).setImmediate ?? ((fn) => setTimeout(fn, 0))
}

/** Resolves after one turn of the event loop, in which promises that depend on nothing else settle. */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => scheduleMacrotask(resolve))
}

/** Calls `fn` with each item. The event loop gets a turn after every `itemsPerTurn` items, because all of them may take long. */
export async function forEachInTurns<T>(
  items: Iterable<T>,
  itemsPerTurn: number,
  fn: (item: T) => void,
): Promise<void> {
  let count = 0
  for (const item of items) {
    if (count > 0 && count % itemsPerTurn === 0) await nextMacrotask()
    count++
    fn(item)
  }
}

/** A call whose maximum number of attempts is higher than this is treated as endless. */
const MAX_FINITE_ATTEMPTS = 1_000_000

/** Calls between two attempts that wait only for a turn of the event loop. */
let yieldingCalls = 0
/** The same for calls that are treated as endless. */
let yieldingEndlessCalls = 0

/** After this many attempts without a delay the event loop gets a turn, so that timers and aborts are handled. */
export const YIELD_EVERY_ATTEMPTS = 100

/** Waits for a turn of the event loop between two attempts of a call with `maxAttempts`. */
export async function yieldTurn(maxAttempts: number): Promise<void> {
  const isEndless = maxAttempts > MAX_FINITE_ATTEMPTS
  if (isEndless) yieldingEndlessCalls++
  else yieldingCalls++
  await nextMacrotask()
  if (isEndless) yieldingEndlessCalls--
  else yieldingCalls--
}

/** For how many turns of the event loop {@link waitUntilIdle} waits for endless calls. */
const MAX_ENDLESS_TURNS = 150

/** Resolves when no call can proceed before time advances. */
export async function waitUntilIdle(): Promise<void> {
  for (
    let turns = 0;
    turns === 0 || yieldingCalls > 0 || (yieldingEndlessCalls > 0 && turns < MAX_ENDLESS_TURNS);
    turns++
  )
    await nextMacrotask()
}
