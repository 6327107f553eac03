import { describe, expect, it } from 'vitest'
import { guard, type StrategyName } from '../../src/index.js'
import type { Selection } from '../../src/pool/members/member-pool.js'
import { seededRandom } from '../../src/testing/index.js'
import { called, FAILURE, made, NOTHING, SUCCESS } from './setup.js'

const CALLS = 10_000
const ids = Array.from({ length: 50 }, (_, i) => `m${i}`)
const strategies: StrategyName[] = [
  'round_robin',
  'random',
  'weighted',
  'least_used',
  'least_latency',
  'score',
  'sticky',
  'region',
  'cost',
]

describe('ten thousand calls at once', () => {
  it.each(strategies)('by %s lose nothing and count nothing twice', (strategy) => {
    const random = seededRandom(3)
    const { pool } = made({ strategy, members: called(...ids), breaker: { failureThreshold: 1e9 } })
    const picks: Selection<string>[] = []
    for (let i = 0; i < CALLS; i++)
      picks.push(pool.select({ session: `s${i}` }, [], undefined) as Selection<string>)
    const expected = { successCount: 0, failureCount: 0, totalAttempts: 0 }
    for (const pick of picks.toSorted(() => random() - 0.5)) {
      const outcome = [SUCCESS, FAILURE, NOTHING][Math.floor(random() * 3)] as typeof SUCCESS
      expected.totalAttempts++
      if (outcome === SUCCESS) expected.successCount++
      if (outcome === FAILURE) expected.failureCount++
      pool.recordOutcome(pick, outcome, [pick])
      pool.recordOutcome(pick, SUCCESS, [pick])
    }
    const sum = { successCount: 0, failureCount: 0, totalAttempts: 0 }
    for (const id of ids) {
      const stats = pool.stats(id)
      sum.successCount += stats.successCount
      sum.failureCount += stats.failureCount
      sum.totalAttempts += stats.totalAttempts
    }
    expect(sum).toEqual(expected)
  })

  it('through a guard, with retries, are all in the books', async () => {
    const random = seededRandom(4)
    const { pool, clock } = made({ members: called(...ids), breaker: { failureThreshold: 1e9 } })
    const calls = guard({ pool, clock, retry: { maxAttempts: 3, backoffType: 'immediate' } })
    let failed = 0
    let succeeded = 0
    const all = Array.from({ length: CALLS }, () =>
      calls.run(async ({ member }) => {
        await Promise.resolve()
        if (random() < 0.3) {
          failed++
          throw new Error(`${member.id} failed`)
        }
        succeeded++
        return member.id
      }),
    )
    const ended = await Promise.allSettled(all)
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(succeeded)
    const stats = ids.map((id) => pool.stats(id))
    expect(stats.reduce((sum, { successCount }) => sum + successCount, 0)).toBe(succeeded)
    expect(stats.reduce((sum, { failureCount }) => sum + failureCount, 0)).toBe(failed)
    expect(stats.reduce((sum, { totalAttempts }) => sum + totalAttempts, 0)).toBe(succeeded + failed)
  })

  it('test a member that half-opens no more often than halfOpenMax says', async () => {
    const { pool, clock } = made({ members: called('a'), breaker: { halfOpenMax: 3, timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    const taken = Array.from({ length: CALLS }, () => pool.select(undefined, [], undefined))
    expect(taken.filter((pick) => pick !== undefined)).toHaveLength(3)
  })
})
