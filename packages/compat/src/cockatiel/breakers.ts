// cspell:ignore Rpms -- a name of cockatiel
import { wallTime } from '../platform.js'
import { CircuitState } from './circuit-state.js'

/** Decides from the results of calls when a circuit opens. */
export interface IBreaker {
  /** The counts, for `toJSON` and `initialState` of a circuit breaker. */
  state: unknown
  /** Counts a success. */
  success(state: CircuitState): void
  /** Counts a failure. Returns whether the circuit opens. */
  failure(state: CircuitState): boolean
}

/** Opens after a number of failures in a row. */
export class ConsecutiveBreaker implements IBreaker {
  private readonly threshold: number
  /** The number of failures since the last success. */
  state = 0

  constructor(threshold: number) {
    this.threshold = threshold
  }

  success(): void {
    this.state = 0
  }

  failure(): boolean {
    return ++this.state >= this.threshold
  }
}

/** Options of {@link CountBreaker}. */
export interface ICountBreakerOptions {
  /** The circuit opens when a larger part of the calls than this has failed; above 0 and below 1. */
  threshold: number
  /** The number of calls in the window. */
  size: number
  /** The number of calls before which the circuit does not open. @defaultValue size */
  minimumNumberOfCalls?: number
}

interface CountState {
  /** The results of the last calls, null for none; `currentSample` is the place of the next one. */
  samples: (boolean | null)[]
  currentSample: number
  failures: number
  successes: number
}

/** Opens when too large a part of the last calls has failed. */
export class CountBreaker implements IBreaker {
  private readonly threshold: number
  private readonly minimumNumberOfCalls: number
  private samples: (boolean | null)[]
  private successes = 0
  private failures = 0
  private currentSample = 0

  constructor({ threshold, size, minimumNumberOfCalls = size }: ICountBreakerOptions) {
    checkThreshold('CountBreaker', threshold)
    if (!Number.isSafeInteger(size) || size < 1)
      throw new RangeError(`CountBreaker size should be a positive integer, got ${size}`)
    if (
      !Number.isSafeInteger(minimumNumberOfCalls) ||
      minimumNumberOfCalls < 1 ||
      minimumNumberOfCalls > size
    )
      throw new RangeError(
        `CountBreaker size should be an integer between (1, size), got ${minimumNumberOfCalls}`,
      )
    this.threshold = threshold
    this.minimumNumberOfCalls = minimumNumberOfCalls
    this.samples = new Array(size).fill(null)
  }

  get state(): unknown {
    const { samples, currentSample, failures, successes } = this
    return { samples: [...samples], currentSample, failures, successes }
  }

  set state(value: unknown) {
    const { samples, currentSample, failures, successes } = value as CountState
    Object.assign(this, { samples: [...samples], currentSample, failures, successes })
  }

  success(state: CircuitState): void {
    if (state === CircuitState.HalfOpen) {
      this.samples.fill(null)
      this.successes = 0
      this.failures = 0
    }
    this.record(true)
  }

  failure(state: CircuitState): boolean {
    this.record(false)
    if (state !== CircuitState.Closed) return true
    const total = this.successes + this.failures
    return total >= this.minimumNumberOfCalls && this.failures > this.threshold * total
  }

  private record(isSuccess: boolean): void {
    const replaced = this.samples[this.currentSample]
    this.successes += Number(isSuccess) - Number(replaced === true)
    this.failures += Number(!isSuccess) - Number(replaced === false)
    this.samples[this.currentSample] = isSuccess
    this.currentSample = (this.currentSample + 1) % this.samples.length
  }
}

/** Options of {@link SamplingBreaker}. */
export interface ISamplingBreakerOptions {
  /** The circuit opens when a larger part of the calls than this has failed; above 0 and below 1. */
  threshold: number
  /** The length of the window in milliseconds. */
  duration: number
  /** The number of calls per second below which the circuit does not open. @defaultValue 5 failures per second */
  minimumRps?: number
}

interface TimeSlice {
  startedAt: number
  failures: number
  successes: number
}

interface SamplingState {
  windows: TimeSlice[]
  /** The index of the newest slice. */
  currentWindow: number
  currentFailures: number
  currentSuccesses: number
}

/** Opens when too large a part of the calls in a window of time has failed. */
export class SamplingBreaker implements IBreaker {
  private readonly threshold: number
  /** Calls per millisecond. */
  private readonly minimumRpms: number
  private readonly duration: number
  /** The length of a slice of the window, in milliseconds. */
  private readonly windowSize: number
  private windows: TimeSlice[]
  private currentWindow = 0
  private currentFailures = 0
  private currentSuccesses = 0

  constructor({ threshold, duration, minimumRps }: ISamplingBreakerOptions) {
    checkThreshold('SamplingBreaker', threshold)
    this.threshold = threshold
    // Slices of at most a second, and at least five.
    const count = Math.max(5, Math.ceil(duration / 1000))
    this.windows = Array.from({ length: count }, () => createSlice(0))
    this.windowSize = Math.round(duration / count)
    this.duration = this.windowSize * count
    this.minimumRpms = minimumRps ? minimumRps / 1000 : 5 / (threshold * 1000)
  }

  get state(): unknown {
    const { windows, currentWindow, currentFailures, currentSuccesses } = this
    return {
      windows: windows.map((slice) => ({ ...slice })),
      currentWindow,
      currentFailures,
      currentSuccesses,
    }
  }

  set state(value: unknown) {
    const { windows, currentWindow, currentFailures, currentSuccesses } = value as SamplingState
    Object.assign(this, {
      windows: windows.map((slice) => ({ ...slice })),
      currentWindow,
      currentFailures,
      currentSuccesses,
    })
  }

  success(state: CircuitState): void {
    if (state === CircuitState.HalfOpen) {
      this.windows = this.windows.map(() => createSlice(0))
      this.currentFailures = 0
      this.currentSuccesses = 0
    }
    this.sliceNow().successes++
    this.currentSuccesses++
  }

  failure(state: CircuitState): boolean {
    this.sliceNow().failures++
    this.currentFailures++
    if (state !== CircuitState.Closed) return true
    const total = this.currentSuccesses + this.currentFailures
    return total >= this.duration * this.minimumRpms && this.currentFailures > this.threshold * total
  }

  /** Returns the slice for the current time. A new one replaces the oldest. */
  private sliceNow(): TimeSlice {
    const now = wallTime()
    const current = this.windows[this.currentWindow] as TimeSlice
    if (now - current.startedAt < this.windowSize) return current
    this.currentWindow = (this.currentWindow + 1) % this.windows.length
    const oldest = this.windows[this.currentWindow] as TimeSlice
    this.currentFailures -= oldest.failures
    this.currentSuccesses -= oldest.successes
    const slice = createSlice(now)
    this.windows[this.currentWindow] = slice
    return slice
  }
}

const createSlice = (startedAt: number): TimeSlice => ({ startedAt, failures: 0, successes: 0 })

function checkThreshold(breaker: string, threshold: number): void {
  if (threshold <= 0 || threshold >= 1)
    throw new RangeError(`${breaker} threshold should be between (0, 1), got ${threshold}`)
}
