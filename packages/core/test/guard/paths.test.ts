// The fast path and executions must have the same results for any sequence of outcomes.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Guard, type GuardOptions, guard, type Session, sessionOf } from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'
import { errorWith, fate, thenable } from './watch.js'

type Call = (fn: () => unknown) => Promise<unknown>

const heard = (made: Guard): Guard => {
  made.on(() => {})
  return made
}

/** Ways to make a call: the first takes the fast path, the others are executions from the start or wrapped functions. */
const PATHS: Record<string, (options: GuardOptions) => { made: Guard; call: Call }> = {
  run: (options) => {
    const made = guard(options)
    return { made, call: (fn) => made.run(fn) }
  },
  'run with a listener': (options) => {
    const made = heard(guard(options))
    return { made, call: (fn) => made.run(fn) }
  },
  'run with a deadline': (options) => {
    const made = guard({ ...options, timeout: { total: '30d' } })
    return { made, call: (fn) => made.run(fn) }
  },
  'run with a signal': (options) => {
    const made = guard(options)
    return { made, call: (fn) => made.run(fn, { signal: new AbortController().signal }) }
  },
  'run with a retryIf': (options) => {
    const made = guard({ ...options, retry: { ...options.retry, retryIf: () => false } })
    return { made, call: (fn) => made.run(fn) }
  },
  wrap: (options) => {
    const made = guard(options)
    return { made, call: (fn) => made.wrap((_word: string) => fn())('word') }
  },
  'wrap with a listener': (options) => {
    const made = heard(guard(options))
    return { made, call: (fn) => made.wrap(() => fn())() }
  },
  'wrap of five arguments': (options) => {
    const made = guard(options)
    return { made, call: (fn) => made.wrap((..._words: number[]) => fn())(1, 2, 3, 4, 5) }
  },
}

const outcomes = {
  value: () => 'up',
  nothing: () => undefined,
  transient: () => errorWith({ code: 'ECONNRESET' }, 'reset'),
  unknown: () => new Error('unknown'),
  permanent: () => new TypeError('bug'),
  limited: () => errorWith({ status: 429, headers: { 'retry-after-ms': '40' } }, 'limited'),
  tooLong: () => errorWith({ status: 503, headers: { 'retry-after': '3600' } }, 'unavailable'),
}
type Outcome = keyof typeof outcomes

const step = fc.record({
  outcome: fc.constantFrom(...(Object.keys(outcomes) as Outcome[])),
  shared: fc.boolean(),
  how: fc.constantFrom('at once', 'as a promise', 'as a thenable', 'later'),
  thrown: fc.constantFrom('an error', 'an error', 'text', 'undefined'),
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const history = fc.record({
  calls: fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
  backoffType: fc.constantFrom('immediate' as const, 'exponential' as const),
  breaker: fc.constantFrom(
    false as const,
    { failureThreshold: 2 },
    { failureThreshold: 2, windowType: 'consecutive' as const },
    { failureRate: 0.5, minimumCalls: 2 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer H> ? H : never

/** Runs one step; some errors are the same object in the whole sequence. */
function play(at: Step, clock: FakeClock, shared: Map<string, unknown>): unknown {
  let result: unknown = outcomes[at.outcome]()
  const fails = result instanceof Error
  if (fails && at.shared) {
    result = shared.get(at.outcome) ?? result
    shared.set(at.outcome, result)
  }
  if (fails && at.thrown !== 'an error') result = at.thrown === 'text' ? 'text' : undefined
  const settle = (resolve: (value: unknown) => void, reject: (error: unknown) => void) =>
    fails ? reject(result) : resolve(result)
  if (at.how === 'as a promise') return new Promise(settle)
  if (at.how === 'later')
    return new Promise((resolve, reject) => clock.setTimer(() => settle(resolve, reject), 15))
  if (at.how === 'as a thenable') return thenable(settle)
  if (fails) throw result
  return result
}

const say = (error: unknown) => (error instanceof Error ? error.message : error)
const describeSession = (session: Session): unknown => ({
  ...session,
  attempts: session.attempts.map((record) => ({ ...record, error: say(record.error) })),
  inner: session.inner?.map(describeSession),
})

/** Everything observable of a sequence on one path. */
async function seen(path: string, { calls, breaker, ...retry }: History): Promise<unknown> {
  const clock = fakeClock()
  const shared = new Map<string, unknown>()
  const made = PATHS[path]?.({ clock, name: 'api', retry, breaker })
  const results: unknown[] = []
  for (const script of calls) {
    const began: number[] = []
    const call = fate(
      made?.call(() => {
        began.push(clock.now())
        return play(script[Math.min(began.length, script.length) - 1] as Step, clock, shared)
      }) as Promise<unknown>,
    )
    await clock.advance(20_000)
    const session = sessionOf(call.error)
    results.push({
      state: call.state,
      value: call.value,
      error: say(call.error),
      began,
      session: session && describeSession(session),
      breaker: made?.made.breaker?.snapshot(),
    })
  }
  return results
}

describe('a sequence of calls', () => {
  it.each(Object.keys(PATHS).slice(1))('has the same results by %s as by the fast path', async (path) => {
    await fc.assert(
      fc.asyncProperty(history, async (given) => {
        expect(await seen(path, given)).toEqual(await seen('run', given))
      }),
      { numRuns: 150 },
    )
  })
})
