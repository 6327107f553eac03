import { describe, expect, it } from 'vitest'
import { type BreakerOptions, type Member, Pool, type StrategyName } from '../../src/index.js'
import type { Selection } from '../../src/pool/members/member-pool.js'
import { seededRandom } from '../../src/testing/index.js'
import { histories } from '../histories.js'
import { Model, type ModelSelection } from './model.js'
import { ABORTED, FAILURE, SUCCESS, thrown, withStatus } from './setup.js'

const HISTORIES = histories(2100)
const STEPS = 50

/** A clock without timers that moves only by `pass`. */
function createManualClock() {
  let time = 0
  return {
    now: () => time,
    wall: () => time + 1e12,
    setTimer: () => undefined,
    clearTimer: () => {},
    pass(ms: number) {
      time += ms
    },
  }
}

/** Created once, because creating an error with its stack takes longer than a step. */
const HINT = 20
const HINTED = thrown(withStatus(429, { 'retry-after-ms': `${HINT}` }))
const LIMITED = thrown(withStatus(429))

interface PendingAttempt {
  readonly real: Selection<string>
  readonly model: ModelSelection
  readonly call: Call
}

interface Call {
  readonly real: Selection<string>[]
  readonly model: ModelSelection[]
  readonly context: { session?: string; region?: string }
}

/** Asserts only when there is a difference: hundreds of thousands of assertions would dominate the running time. */
function expectSame(real: unknown, expected: unknown): void {
  if (Object.is(real, expected)) return
  if (typeof real !== 'object' || JSON.stringify(real) !== JSON.stringify(expected))
    expect(real).toEqual(expected)
}

/** Runs the same random steps on the pool and on the model, and compares them. */
function runHistory(strategy: StrategyName, seed: number): void {
  const random = seededRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const one = <T>(...list: T[]): T => list[below(list.length)] as T
  const clock = createManualClock()
  clock.pass(below(1000))
  const breaker: BreakerOptions = {
    failureThreshold: one(1, 2, 3),
    windowType: one('rolling', 'rolling', 'consecutive', 'rate'),
    minimumCalls: 2,
    windowDuration: 60,
    timeoutDuration: 40,
    timeoutMultiplier: one(1, 2),
    halfOpenMax: one(1, 1, 2),
    successThreshold: one(1, 1, 2),
    adaptive: one(false, false, false, true),
  }
  const maxEjected = one(undefined, undefined, 0.5)
  const panicThreshold = one(undefined, undefined, 0.4)
  const limits = {
    ...(maxEjected === undefined ? {} : { maxEjected }),
    ...(panicThreshold === undefined ? {} : { panicThreshold }),
  }
  const pool = new Pool<string>({ id: 'p', strategy, breaker, clock, random: () => 0, ...limits })
  const model = new Model({ strategy, breaker, clock, maxEjected, panicThreshold })
  let pending: PendingAttempt[] = []
  let calls: Call[] = []
  let memberCount = 0

  const add = () => {
    const member: Member<string> = {
      id: `m${memberCount++}`,
      value: '',
      cost: below(3),
      ...(below(3) > 0 && { region: one('x', 'y') }),
      ...(below(8) === 0 && { breaker: { failureThreshold: 2, windowDuration: 25 } }),
    }
    pool.add(member)
    model.add(member)
  }
  const randomEntry = () => model.entries[below(model.entries.length)]
  const context = () => ({ session: `s${below(20)}`, ...(below(3) > 0 && { region: one('x', 'y', 'z') }) })

  const select = () => {
    const call: Call =
      calls.length > 0 && below(2) === 0 ? one(...calls) : { real: [], model: [], context: context() }
    const real = pool.select(call.context, call.real, undefined)
    const expected = model.select(
      call.context,
      call.model.map(({ entry }) => entry),
    )
    expectSame(real?.member.id, expected?.entry.member.id)
    if (real === undefined || expected === undefined) {
      const { retryAfter } = pool.createUnavailableError()
      expectSame(retryAfter ?? Infinity, model.nextAvailableAt - clock.now())
      return
    }
    if (call.real.length === 0) calls.push(call)
    call.real.push(real)
    call.model.push(expected)
    pending.push({ real, model: expected, call })
  }
  const recordOutcome = () => {
    const attempt = pending[below(pending.length)]
    if (attempt === undefined) return
    pending = pending.filter((other) => other !== attempt)
    if (below(2) === 0) calls = calls.filter((call) => call !== attempt.call)
    const kind = below(10)
    const outcome = [HINTED, LIMITED, ABORTED, SUCCESS, SUCCESS, SUCCESS][kind] ?? FAILURE
    pool.recordOutcome(attempt.real, outcome, attempt.call.real)
    model.recordOutcome(attempt.model, outcome.breakerOutcome, [HINT, 40][kind])
  }
  const onRandomMember = (real: (id: string) => void, modelled: (id: string) => void) => () => {
    const entry = randomEntry()
    if (entry === undefined) return
    real(entry.member.id)
    modelled(entry.member.id)
    model.updateEjections()
  }
  const remove = onRandomMember(
    (id) => pool.remove(id),
    (id) => model.remove(model.get(id)),
  )
  const drain = onRandomMember(
    (id) => pool.drain(id),
    (id) => model.drain(model.get(id)),
  )
  const enable = onRandomMember(
    (id) => pool.enable(id),
    (id) => model.enable(model.get(id)),
  )
  const trip = onRandomMember(
    (id) => pool.breaker(id).trip(),
    (id) => model.get(id).breaker.trip(),
  )
  const reset = onRandomMember(
    (id) => pool.breaker(id).reset(),
    (id) => model.get(id).breaker.reset(),
  )
  const readState = onRandomMember(
    (id) => pool.breaker(id).state,
    () => {},
  )
  const advance = () => clock.pass(one(1, 5, 20, 40, 60))

  const steps = [
    select,
    select,
    select,
    select,
    recordOutcome,
    recordOutcome,
    recordOutcome,
    recordOutcome,
    advance,
    advance,
    add,
    remove,
    drain,
    enable,
    trip,
    reset,
    readState,
  ]
  for (let i = below(8); i > 0; i--) add()
  for (let i = 0; i < STEPS; i++) one(...steps)()

  expectSame(pool.size, model.entries.length)
  for (const { member, breaker: expected, attempts, successes, failures, opens } of model.entries) {
    expectSame(pool.breaker(member.id).snapshot(), expected.snapshot())
    const { totalAttempts, successCount, failureCount, circuitBreakerOpens } = pool.stats(member.id)
    expectSame(
      [totalAttempts, successCount, failureCount, circuitBreakerOpens],
      [attempts, successes, failures, opens],
    )
  }
}

describe('a pool compared with a naive model', () => {
  it.each(['round_robin', 'least_used', 'cost', 'sticky', 'region'] as const)(
    `selects, rejects and counts the same with the strategy ${'%s'}, in ${HISTORIES} histories`,
    (strategy) => {
      for (let seed = 1; seed <= HISTORIES; seed++) {
        try {
          runHistory(strategy, seed)
        } catch (error) {
          throw new Error(`history ${seed} differs`, { cause: error })
        }
      }
    },
    120_000,
  )
})
