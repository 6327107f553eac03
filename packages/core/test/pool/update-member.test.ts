import { describe, expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import type { StrategyName } from '../../src/pool/strategies/index.js'
import { fakeClock, seededRandom } from '../../src/testing/index.js'

const MEMBERS = [
  { id: 'a', value: 1, weight: 1, region: 'eu', cost: 1 },
  { id: 'b', value: 2, weight: 1, region: 'us', cost: 2 },
]

const clock = fakeClock()

function createPool(strategy: StrategyName, options = {}) {
  const breaker = { failureThreshold: 3, timeoutDuration: 60_000 }
  const random = seededRandom(1)
  return { pool: new Pool({ id: 'p', members: MEMBERS, clock, random, strategy, breaker, ...options }) }
}

/** Runs a call on the selected member. */
const call = (pool: Pool<number>, answers = true) =>
  guard({ pool, retry: false, clock })
    .run(async () => {
      if (!answers) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    })
    .catch(() => {})

const picked = (pool: Pool<number>, times: number, context?: object) => {
  const counts: Record<string, number> = { a: 0, b: 0 }
  for (let i = 0; i < times; i++) counts[pool.pick(context)?.id ?? 'none']!++
  return counts
}

describe('Pool.updateMember', () => {
  it('keeps counts, breaker, cooldown and draining', async () => {
    const { pool } = createPool('round_robin')
    for (let i = 0; i < 6; i++) await call(pool, i % 2 === 1)
    pool.startCooldown('b', 5000)
    const [before, breaker] = [pool.stats('a'), pool.breaker('a')]
    expect(before.failureCount).toBe(3)
    pool.updateMember({ ...MEMBERS[0]!, weight: 9 })
    pool.updateMember({ ...MEMBERS[1]!, weight: 9 })
    expect(pool.stats('a')).toEqual(before)
    expect(pool.breaker('a')).toBe(breaker)
    expect(['a', 'b'].map((id) => pool.status(id))).toEqual(['open', 'resting'])
    expect(pool.members().map(({ weight }) => weight)).toEqual([9, 9])
    pool.enable('b')
    pool.drain('b')
    pool.updateMember(MEMBERS[1]!)
    expect(pool.status('b')).toBe('drained')
    expect(pool.pick()).toBeUndefined()
  })

  it('takes effect at the next selection', () => {
    const weighted = createPool('weighted').pool
    weighted.updateMember({ ...MEMBERS[0]!, weight: 0 })
    expect(picked(weighted, 20)).toEqual({ a: 0, b: 20 })
    const { pool } = createPool('region')
    pool.updateMember({ ...MEMBERS[0]!, region: 'us' })
    expect(picked(pool, 20, { region: 'us' })).toEqual({ a: 10, b: 10 })
    const cheapest = createPool('cost').pool
    cheapest.updateMember({ ...MEMBERS[1]!, cost: 0 })
    expect(cheapest.pick()?.id).toBe('b')
  })

  it('removes the effect of the previous properties', () => {
    const { pool } = createPool('region', { panicThreshold: 1 })
    pool.updateMember({ ...MEMBERS[0]!, region: 'us' })
    // No member is left in eu, so the selection is among all members.
    expect(picked(pool, 20, { region: 'eu' })).toEqual({ a: 10, b: 10 })
    pool.drain('a')
    expect(picked(pool, 20, { region: 'us' })).toEqual({ a: 0, b: 20 })
    pool.breaker('b').trip()
    expect(picked(pool, 20, { region: 'eu' })).toEqual({ a: 0, b: 20 })
  })

  it('does not make an unavailable member available', () => {
    const { pool } = createPool('round_robin')
    pool.breaker('a').trip()
    pool.updateMember({ ...MEMBERS[0]!, weight: 5 })
    expect(picked(pool, 4)).toEqual({ a: 0, b: 4 })
    pool.breaker('a').reset()
    expect(picked(pool, 4)).toEqual({ a: 2, b: 2 })
  })

  it('does not make a drained member selectable in panic mode', () => {
    const { pool } = createPool('round_robin', { panicThreshold: 1 })
    pool.drain('a')
    pool.breaker('b').trip()
    pool.updateMember({ ...MEMBERS[0]!, weight: 5 })
    expect(picked(pool, 4)).toEqual({ a: 0, b: 4 })
    pool.enable('a')
    expect(picked(pool, 4)).toEqual({ a: 2, b: 2 })
  })

  it('applies to the selection in panic mode', () => {
    const { pool } = createPool('weighted', { panicThreshold: 1 })
    pool.breaker('a').trip()
    pool.updateMember({ ...MEMBERS[1]!, weight: 0 })
    expect(picked(pool, 20)).toEqual({ a: 20, b: 0 })
  })

  it('can set and remove the breaker options of a member', async () => {
    const { pool } = createPool('round_robin')
    await call(pool, false)
    await call(pool)
    pool.updateMember({ ...MEMBERS[0]!, breaker: { failureThreshold: 2 } })
    await call(pool, false)
    expect(pool.status('a')).toBe('open')
    pool.breaker('a').reset()
    pool.updateMember(MEMBERS[0]!)
    pool.breaker('a').admit()?.failure()
    pool.breaker('a').admit()?.failure()
    expect(pool.status('a')).toBe('available')
  })

  it('changes nothing when the member is invalid or unknown', () => {
    const { pool } = createPool('weighted')
    expect(() => pool.updateMember({ ...MEMBERS[0]!, weight: -1 })).toThrow(
      /member\.weight: expected .*, got -1$/,
    )
    expect(() => pool.updateMember({ id: 'c', value: 3 })).toThrow(/no member "c"/)
    expect(pool.members()).toEqual(MEMBERS)
  })
})

describe('Pool.updateStrategy', () => {
  it('keeps the statistics and breakers of members', async () => {
    const { pool } = createPool('round_robin')
    for (let i = 0; i < 6; i++) await call(pool, i % 2 === 1)
    const before = ['a', 'b'].map((id) => pool.stats(id))
    pool.updateStrategy({ strategy: 'weighted' })
    expect(['a', 'b'].map((id) => pool.stats(id))).toEqual(before)
    expect(pool.status('a')).toBe('open')
    expect(picked(pool, 5)).toEqual({ a: 0, b: 5 })
    pool.breaker('a').reset()
    expect(picked(pool, 20).a).toBeGreaterThan(0)
  })

  it('records scores from the change to the strategy score on', async () => {
    const { pool } = createPool('least_latency')
    pool.drain('b')
    await call(pool)
    expect(pool.stats('a')).toHaveProperty('latency')
    pool.updateStrategy({ strategy: 'score' })
    for (let i = 0; i < 4; i++) await call(pool, i > 1)
    const { score, latency } = pool.stats('a')
    expect([score, latency]).toEqual([0.35 + 0.3, undefined])
    // The pool grows beyond its capacity, and the same strategy is set again.
    for (let i = 0; i < 100; i++) pool.add({ id: `m${i}`, value: i })
    pool.updateStrategy({ strategy: 'score', maxEjected: 0.5 })
    expect(pool.stats('a').score).toBe(score)
    expect(pool.stats('m99').score).toBe(0.5)
  })

  it('uses the new strategy in panic mode too, among all members that are not drained', () => {
    const { pool } = createPool('round_robin', { panicThreshold: 1 })
    pool.add({ id: 'c', value: 3, cost: 0 })
    pool.drain('c')
    pool.breaker('a').trip()
    pool.updateStrategy({ strategy: 'cost' })
    expect(pool.pick()?.id).toBe('a')
    pool.enable('c')
    expect(pool.pick()?.id).toBe('c')
  })

  it.each(['score', 'least_latency'] as const)(
    'keeps the measurements of %s when the strategy stays and many members are added',
    async (strategy) => {
      const { pool } = createPool(strategy)
      pool.drain('b')
      await call(pool)
      pool.updateStrategy({ strategy, maxEjected: 0.5 })
      const key = strategy === 'score' ? 'score' : 'latency'
      const before = pool.stats('a')[key]
      expect(before).toBeDefined()
      for (let i = 0; i < 500; i++) pool.add({ id: `m${i}`, value: i })
      pool.drain('a')
      for (let i = 0; i < 499; i++) pool.drain(`m${i}`)
      for (let i = 0; i < 3; i++) await call(pool)
      expect(pool.stats('a')[key]).toBe(before)
      expect(pool.stats('m499')[key]).toEqual(strategy === 'score' ? expect.any(Number) : 0)
    },
  )

  it('can change the limit of ejected members', () => {
    const { pool } = createPool('round_robin', { maxEjected: 0.5 })
    for (const id of ['a', 'b']) pool.breaker(id).trip()
    expect(picked(pool, 4)).toEqual({ a: 0, b: 4 })
    pool.updateStrategy({ maxEjected: 0 })
    expect(picked(pool, 4)).toEqual({ a: 2, b: 2 })
    pool.updateStrategy({})
    expect(pool.pick()).toBeUndefined()
  })

  it('can change the member faults', async () => {
    const { pool } = createPool('round_robin', { memberFaults: [] })
    const forbidden = () =>
      guard({ pool, retry: { maxAttempts: 2, baseDelay: 0 } })
        .run(async ({ number }) => {
          if (number === 1) throw Object.assign(new Error('no'), { status: 403 })
          return 'yes'
        })
        .catch((error: Error) => error.message)
    expect(await forbidden()).toBe('no')
    pool.updateStrategy({ memberFaults: [403] })
    expect(await forbidden()).toBe('yes')
  })

  it('changes nothing when the options are invalid', () => {
    const { pool } = createPool('weighted')
    expect(() => pool.updateStrategy({ strategy: 'fastest' as StrategyName })).toThrow(/strategy/)
    pool.updateMember({ ...MEMBERS[0]!, weight: 0 })
    expect(picked(pool, 4)).toEqual({ a: 0, b: 4 })
  })
})
