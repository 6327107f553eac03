import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type BreakerEvent, CircuitBreaker, type Clock, type Permit } from '../../src/index.js'
import { histories, seedOf } from '../histories.js'
import { Model, type ModelOptions, type ModelOutcome, type ModelPermit } from './model.js'

const HISTORIES = histories(10_000)
const seed = seedOf('the breaker agrees with its model')
const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)

/** Whole milliseconds and windows of at most 256: results that are apart are a 256th of the window apart. */
const options: fc.Arbitrary<ModelOptions> = fc
  .record({
    windowType: fc.constantFrom('rolling', 'consecutive', 'rate'),
    failureThreshold: fc.integer({ min: 1, max: 5 }),
    windowDuration: fc.constantFrom(1, 7, 20, 256),
    minimumCalls: fc.integer({ min: 1, max: 6 }),
    failureRate: fc.constantFrom(0.25, 0.5, 1, undefined),
    slowCallRate: fc.constantFrom(0.5, 1, undefined),
    slowCallDuration: fc.constantFrom(1, 5),
    timeoutDuration: fc.constantFrom(1, 6, 15),
    timeoutMultiplier: fc.constantFrom(1, 2, 3),
    maxTimeoutDuration: fc.constantFrom(15, 40, HOUR),
    successThreshold: fc.integer({ min: 1, max: 3 }),
    halfOpenMax: fc.integer({ min: 1, max: 3 }),
    probeLease: fc.constantFrom(1, 4, 30, undefined),
    adaptive: fc.boolean(),
  })
  .map(({ failureRate, slowCallRate, slowCallDuration, ...rest }) => {
    const rated = rest.windowType === 'rate'
    const slow = rated && slowCallRate !== undefined
    return {
      ...rest,
      failureRate: rated && !slow ? (failureRate ?? 0.5) : rated ? failureRate : undefined,
      slowCallRate: slow ? slowCallRate : undefined,
      slowCallDuration: slow ? slowCallDuration : undefined,
    }
  })

/** The real breaker and its model; permits come in pairs and are kept after they are released. */
class Pair {
  readonly model: Model
  private breaker: CircuitBreaker
  private readonly permits: [Permit, ModelPermit][] = []
  private readonly events: string[] = []
  /** The difference between the breaker's monotonic clock and the model's: each process has another clock. */
  private ahead = 0
  private readonly clock: Clock
  private readonly settings: ModelOptions
  private deafen = () => {}

  constructor(settings: ModelOptions) {
    const model = new Model(settings)
    this.settings = settings
    model.wall = START
    this.model = model
    this.clock = {
      now: () => model.now + this.ahead,
      wall: () => model.wall,
      setTimer: () => expect.unreachable('a breaker asked for a timer'),
      clearTimer: () => {},
    }
    this.breaker = this.listened(new CircuitBreaker(this.given()))
  }

  /** Without the options that are undefined. */
  private given(): object {
    const entries = Object.entries({ ...this.settings, clock: this.clock })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  private listened(breaker: CircuitBreaker): CircuitBreaker {
    this.deafen = breaker.on(({ fromState, toState, timestamp, failureCount }: BreakerEvent) =>
      this.events.push(`${fromState}>${toState} at ${timestamp} after ${failureCount}`),
    )
    return breaker
  }

  admit(): [Permit, ModelPermit] | undefined {
    const real = this.breaker.admit()
    const model = this.model.admit()
    same([real !== undefined], [model !== undefined])
    if (real === undefined || model === undefined) return undefined
    this.permits.push([real, model])
    if (this.permits.length > 12) this.permits.shift()
    return [real, model]
  }

  settle(pair: [Permit, ModelPermit] | undefined, verdict: ModelOutcome): void {
    pair?.[0][verdict]()
    if (pair !== undefined) this.model.settle(pair[1], verdict)
  }

  advance(ms: number): void {
    this.model.now += ms
    this.model.wall += ms
  }

  stepWall(ms: number): void {
    this.model.wall += ms
  }

  restore(step: number, ahead: number): void {
    const snapshot = JSON.parse(JSON.stringify(this.breaker.snapshot()))
    this.deafen()
    this.ahead = ahead
    this.model.restore(step)
    this.breaker = this.listened(CircuitBreaker.restore(snapshot, this.given()))
  }

  /** Applies one action to both; `what` and `which` are any two whole numbers. */
  step(what: number, which: number): void {
    const { model, permits, breaker } = this
    const any = permits[which % Math.max(1, permits.length)]
    if (what < 16) this.admit()
    else if (what < 28) this.settle(any, 'success')
    else if (what < 44) this.settle(any, 'failure')
    else if (what < 48) this.settle(any, 'ignore')
    else if (what < 62) this.settle(this.admit(), 'failure')
    else if (what < 68) this.settle(this.admit(), 'success')
    else if (what < 76) this.advance(which % 8)
    else if (what < 88) {
      const { boundaries } = model
      const due = boundaries[which % Math.max(1, boundaries.length)] ?? 0
      this.advance(Math.max(0, due + (which % 3) - 1))
    } else if (what < 90) this.stepWall([1, -1, HOUR, -HOUR][which % 4] as number)
    else if (what < 92) this.burst(which)
    else if (what < 94) both(breaker, model, 'trip')
    else if (what < 95) both(breaker, model, 'reset')
    else if (what < 96) both(breaker, model, which % 4 === 0 ? 'disable' : 'enable')
    else this.restore(([0, 0, 1, 5, -3, 16, HOUR, -HOUR] as const)[which % 8] as number, which * 1000)
    this.compare()
  }

  /** Many calls at once, so that there are enough results for an adaptive threshold. */
  private burst(which: number): void {
    for (let i = 0; i < which; i++) {
      this.settle(this.admit(), i % 7 < which % 7 ? 'failure' : 'success')
      if (i % 5 === 0) this.advance(which % 4)
    }
  }

  private compare(): void {
    const { breaker, model } = this
    const { state, failureCount, nextTestTime, disabled } = breaker
    const { successCount, openedInARow, openDuration } = breaker.snapshot()
    same(
      [state, failureCount, nextTestTime, disabled, successCount, openedInARow, this.events.length],
      [
        model.state,
        model.failureCount,
        model.nextTestTime,
        model.disabled,
        model.successes,
        model.openings,
        model.events.length,
      ],
    )
    same([this.events.at(-1)], [model.events.at(-1)])
    if (state === 'open') same([openDuration], [model.openFor])
  }
}

/** Only a comparison that fails becomes an assertion, because an assertion takes longer than the step itself. */
function same(real: unknown[], model: unknown[]): void {
  if (real.some((value, i) => value !== model[i])) expect(real).toEqual(model)
}

const both = (breaker: CircuitBreaker, model: Model, name: 'trip' | 'reset' | 'disable' | 'enable') => {
  breaker[name]()
  model[name]()
}

it(`the breaker agrees with its model over ${HISTORIES} histories, seed ${seed}`, () => {
  process.stdout.write(`breaker model: SEED=${seed}, ${HISTORIES} histories\n`)
  const steps = fc.array(fc.tuple(fc.nat(99), fc.nat(63)), { minLength: 5, maxLength: 60, size: 'max' })
  const history = fc.property(options, steps, (settings, list) => {
    const pair = new Pair(settings)
    for (const [what, which] of list) pair.step(what, which)
  })
  fc.assert(history, { seed, numRuns: HISTORIES })
})
