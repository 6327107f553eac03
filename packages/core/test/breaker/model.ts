/**
 * The breaker as the contract describes it, for comparison with the real one: every result is kept and everything is computed
 * from them each time. It is slow, and shares no code with the sources.
 */

export interface ModelOptions {
  windowType: 'rolling' | 'consecutive' | 'rate'
  failureThreshold: number
  windowDuration: number
  minimumCalls: number
  failureRate: number | undefined
  slowCallRate: number | undefined
  slowCallDuration: number | undefined
  timeoutDuration: number
  timeoutMultiplier: number
  maxTimeoutDuration: number
  successThreshold: number
  halfOpenMax: number
  probeLease: number | undefined
  adaptive: boolean
}

type State = 'closed' | 'open' | 'half_open'
export type ModelOutcome = 'success' | 'failure' | 'ignore'

interface Result {
  time: number
  failed: boolean
  slow: boolean
}

export class ModelPermit {
  settled = false
  /** A probe whose lease ended, and whose permit another probe holds. */
  lapsed = false

  readonly period: object
  readonly startedAt: number
  readonly leaseEnd: number

  constructor(period: object, startedAt: number, leaseEnd: number) {
    this.period = period
    this.startedAt = startedAt
    this.leaseEnd = leaseEnd
  }
}

export class Model {
  now = 0
  wall = 0
  state: State = 'closed'
  disabled = false
  successes = 0
  openings = 0
  openFor = 0
  until = 0
  readonly events: string[] = []
  private period = {}
  private results: Result[] = []
  private openedBy = 0
  private tests: ModelPermit[] = []
  private closedAt = Number.NEGATIVE_INFINITY
  private longRun: boolean[] = []

  private readonly options: ModelOptions

  constructor(options: ModelOptions) {
    this.options = options
  }

  get failureCount(): number {
    return this.state === 'closed' ? this.window().filter(({ failed }) => failed).length : this.openedBy
  }

  get nextTestTime(): number | undefined {
    return this.state === 'open' ? this.wall + this.until - this.now : undefined
  }

  /** The time until each deadline and each expiry of a result. */
  get boundaries(): number[] {
    const { windowDuration } = this.options
    return [
      ...(this.state === 'open' ? [this.until] : []),
      ...this.tests.map(({ leaseEnd }) => leaseEnd),
      ...this.results.map(({ time }) => time + windowDuration),
      ...(this.state === 'closed' ? [this.closedAt + this.openFor] : []),
    ]
      .map((time) => time - this.now)
      .filter((wait) => wait > 0 && wait < Number.POSITIVE_INFINITY)
  }

  admit(): ModelPermit | undefined {
    const { halfOpenMax, probeLease, timeoutDuration } = this.options
    if (this.state === 'closed') return new ModelPermit(this.period, this.now, Number.POSITIVE_INFINITY)
    if (this.state === 'open') {
      if (this.now < this.until) return undefined
      this.become('half_open')
    }
    const running = this.tests.filter(({ leaseEnd }) => leaseEnd > this.now)
    if (running.length >= halfOpenMax) return undefined
    for (const test of this.tests) if (!running.includes(test)) test.lapsed = true
    const permit = new ModelPermit(this.period, this.now, this.now + (probeLease ?? timeoutDuration))
    this.tests = [...running, permit]
    return permit
  }

  settle(permit: ModelPermit, verdict: ModelOutcome): void {
    const { slowCallDuration = Number.POSITIVE_INFINITY } = this.options
    if (permit.settled) return
    permit.settled = true
    if (permit.period !== this.period) return
    this.tests = this.tests.filter((test) => test !== permit)
    if (permit.lapsed || this.now > permit.leaseEnd || verdict === 'ignore' || this.disabled) return
    this.count(verdict === 'failure', this.now - permit.startedAt >= slowCallDuration)
  }

  trip(): void {
    if (this.disabled) return
    if (this.state === 'open') {
      this.until = this.now + this.openFor
      this.successes = 0
    } else this.open(this.failureCount)
  }

  reset(): void {
    if (!this.disabled) this.become('closed')
  }

  disable(): void {
    this.disabled = true
    this.become('closed')
  }

  enable(): void {
    if (!this.disabled) return
    this.disabled = false
    this.become('closed')
  }

  /** Continues in another process, whose wall clock was set by `step` meanwhile. Running calls are lost. */
  restore(step: number): void {
    const moved = (time: number) => this.now - Math.max(0, this.now - time + step)
    this.wall += step
    this.results = this.window().map((result) => ({ ...result, time: moved(result.time) }))
    this.closedAt = moved(this.closedAt)
    if (this.state === 'half_open') this.until = this.now
    if (this.state === 'open') {
      this.until = this.now + Math.min(this.openFor, this.until - this.now - step)
    }
    if (this.state === 'half_open') this.state = 'open'
    this.period = {}
    this.tests = []
  }

  private window(): Result[] {
    const { windowType, windowDuration } = this.options
    if (windowType !== 'consecutive')
      return this.results.filter(({ time }) => time >= this.now - windowDuration)
    const lastSuccess = this.results.findLastIndex(({ failed }) => !failed)
    return this.results.slice(lastSuccess + 1)
  }

  private threshold(): number {
    const { failureThreshold, adaptive } = this.options
    const known = this.longRun.slice(-200)
    if (!adaptive || known.length < 50) return failureThreshold
    const p = known.filter((success) => success).length / known.length
    const scale = Math.min(Math.max(p / 0.9, 0.4), 1)
    return Math.max(2, Math.round(failureThreshold * scale))
  }

  private count(failed: boolean, slow: boolean): void {
    const { windowType, minimumCalls, failureRate, slowCallRate, successThreshold } = this.options
    this.longRun.push(!failed)
    if (this.state === 'half_open') {
      if (failed || slow) this.open(this.openedBy + 1)
      else {
        this.successes++
        if (this.successes >= successThreshold) this.become('closed')
      }
      return
    }
    this.results.push({ time: this.now, failed, slow })
    const window = this.window()
    const failures = window.filter((result) => result.failed).length
    const slowOnes = window.filter((result) => result.slow).length
    const opens =
      windowType === 'rate'
        ? window.length >= minimumCalls &&
          ((failureRate !== undefined && failures / window.length >= failureRate) ||
            (slowCallRate !== undefined && slowOnes / window.length >= slowCallRate))
        : failed && failures >= this.threshold()
    if (opens) this.open(failures)
  }

  private open(failures: number): void {
    const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = this.options
    if (this.state === 'closed' && this.now - this.closedAt >= this.openFor) this.openings = 0
    this.openFor = Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** this.openings)
    this.openings++
    this.until = this.now + this.openFor
    this.openedBy = failures
    this.become('open')
  }

  private become(state: State): void {
    const from = this.state
    this.state = state
    this.period = {}
    this.tests = []
    this.results = []
    if (state !== 'half_open') this.successes = 0
    if (state === 'closed') this.openedBy = 0
    if (state === 'closed' && from !== 'closed') this.closedAt = this.now
    if (state !== from) this.events.push(`${from}>${state} at ${this.wall} after ${this.openedBy}`)
  }
}
