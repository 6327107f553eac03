import { describe, expect, it } from 'vitest'
import { type BreakerOptions, type Member, Pool, type StrategyName } from '../../src/index.js'
import type { Selection } from '../../src/pool/members/member-pool.js'
import { seededRandom } from '../../src/testing/index.js'
import { histories } from '../histories.js'
import { Model, type ModelPick } from './model.js'
import { FAILURE, NOTHING, SUCCESS, thrown, withStatus } from './setup.js'

const HISTORIES = histories(2100)
const STEPS = 50

/** A clock that is set by hand. */
function handClock() {
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

/** Made once: an error with its stack takes longer than a step. */
const HINT = 20
const HINTED = thrown(withStatus(429, { 'retry-after-ms': `${HINT}` }))
const LIMITED = thrown(withStatus(429))

interface PendingAttempt {
  readonly real: Selection<string>
  readonly model: ModelPick
  readonly call: Call
}

interface Call {
  readonly real: Selection<string>[]
  readonly model: ModelPick[]
  readonly context: { session?: string; region?: string }
}

/** An assertion is made for those that differ alone: hundreds of thousands of them would take longer than the rest. */
function same(real: unknown, expected: unknown): void {
  if (Object.is(real, expected)) return
  if (typeof real !== 'object' || JSON.stringify(real) !== JSON.stringify(expected))
    expect(real).toEqual(expected)
}

/** One history: the same random steps for the pool and for the model, which must never differ. */
function history(strategy: StrategyName, seed: number): void {
  const random = seededRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const one = <T>(...list: T[]): T => list[below(list.length)] as T
  const clock = handClock()
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
  let flights: PendingAttempt[] = []
  let calls: Call[] = []
  let made = 0

  const add = () => {
    const member: Member<string> = {
      id: `m${made++}`,
      value: '',
      cost: below(3),
      ...(below(3) > 0 && { region: one('x', 'y') }),
      ...(below(8) === 0 && { breaker: { failureThreshold: 2, windowDuration: 25 } }),
    }
    pool.add(member)
    model.add(member)
  }
  const anybody = () => model.entries[below(model.entries.length)]
  const context = () => ({ session: `s${below(20)}`, ...(below(3) > 0 && { region: one('x', 'y', 'z') }) })

  const take = () => {
    const call: Call =
      calls.length > 0 && below(2) === 0 ? one(...calls) : { real: [], model: [], context: context() }
    const real = pool.select(call.context, call.real, undefined)
    const expected = model.take(
      call.context,
      call.model.map(({ entry }) => entry),
    )
    same(real?.member.id, expected?.entry.member.id)
    if (real === undefined || expected === undefined) {
      const { retryAfter } = pool.createUnavailableError()
      same(retryAfter ?? Infinity, model.nextAt - clock.now())
      return
    }
    if (call.real.length === 0) calls.push(call)
    call.real.push(real)
    call.model.push(expected)
    flights.push({ real, model: expected, call })
  }
  const settle = () => {
    const flight = flights[below(flights.length)]
    if (flight === undefined) return
    flights = flights.filter((other) => other !== flight)
    if (below(2) === 0) calls = calls.filter((call) => call !== flight.call)
    const kind = below(10)
    const outcome = [HINTED, LIMITED, NOTHING, SUCCESS, SUCCESS, SUCCESS][kind] ?? FAILURE
    pool.recordOutcome(flight.real, outcome, flight.call.real)
    model.settle(flight.model, outcome.breakerOutcome, [HINT, 40][kind])
  }
  const onOne = (real: (id: string) => void, modelled: (id: string) => void) => () => {
    const entry = anybody()
    if (entry === undefined) return
    real(entry.member.id)
    modelled(entry.member.id)
    model.eject()
  }
  const remove = onOne(
    (id) => pool.remove(id),
    (id) => model.remove(model.get(id)),
  )
  const drain = onOne(
    (id) => pool.drain(id),
    (id) => model.drain(model.get(id)),
  )
  const enable = onOne(
    (id) => pool.enable(id),
    (id) => model.enable(model.get(id)),
  )
  const trip = onOne(
    (id) => pool.breaker(id).trip(),
    (id) => model.get(id).breaker.trip(),
  )
  const reset = onOne(
    (id) => pool.breaker(id).reset(),
    (id) => model.get(id).breaker.reset(),
  )
  const look = onOne(
    (id) => pool.breaker(id).state,
    () => {},
  )
  const pass = () => clock.pass(one(1, 5, 20, 40, 60))

  const steps = [
    take,
    take,
    take,
    take,
    settle,
    settle,
    settle,
    settle,
    pass,
    pass,
    add,
    remove,
    drain,
    enable,
    trip,
    reset,
    look,
  ]
  for (let i = below(8); i > 0; i--) add()
  for (let i = 0; i < STEPS; i++) one(...steps)()

  same(pool.size, model.entries.length)
  for (const { member, breaker: expected, attempts, successes, failures, opens } of model.entries) {
    same(pool.breaker(member.id).snapshot(), expected.snapshot())
    const { totalAttempts, successCount, failureCount, circuitBreakerOpens } = pool.stats(member.id)
    same(
      [totalAttempts, successCount, failureCount, circuitBreakerOpens],
      [attempts, successes, failures, opens],
    )
  }
}

describe('a pool, beside a model that looks at everybody', () => {
  it.each(['round_robin', 'least_used', 'cost', 'sticky', 'region'] as const)(
    `chooses, refuses and counts the same by ${'%s'}, in ${HISTORIES} histories`,
    (strategy) => {
      for (let seed = 1; seed <= HISTORIES; seed++) {
        try {
          history(strategy, seed)
        } catch (error) {
          throw new Error(`history ${seed} differs`, { cause: error })
        }
      }
    },
    120_000,
  )
})
