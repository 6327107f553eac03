import { describe, expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import type { Selection } from '../../src/pool/members/member-pool.js'
import { STRATEGY_NAMES } from '../../src/pool/strategies/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { ABORTED, createPool, FAILURE, membersNamed, SUCCESS } from './setup.js'

const CALLS = 10_000
const ids = Array.from({ length: 50 }, (_, i) => `m${i}`)

describe('a pool with ten thousand concurrent calls', () => {
  it.each(STRATEGY_NAMES)('records every outcome exactly once with the strategy %s', (strategy) => {
    const random = seededRandom(3)
    const { pool } = createPool({
      strategy,
      members: membersNamed(...ids),
      breaker: { failureThreshold: 1e9 },
    })
    const selections: Selection<string>[] = []
    for (let i = 0; i < CALLS; i++)
      selections.push(pool.select({ session: `s${i}` }, [], undefined) as Selection<string>)
    const expected = { successCount: 0, failureCount: 0, totalAttempts: 0 }
    for (const selection of selections.toSorted(() => random() - 0.5)) {
      const outcome = [SUCCESS, FAILURE, ABORTED][Math.floor(random() * 3)] as typeof SUCCESS
      expected.totalAttempts++
      if (outcome === SUCCESS) expected.successCount++
      if (outcome === FAILURE) expected.failureCount++
      pool.recordOutcome(selection, outcome, [selection])
      pool.recordOutcome(selection, SUCCESS, [selection])
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

  it('records every attempt of calls through a guard with retries', async () => {
    const random = seededRandom(4)
    const { pool, clock } = createPool({ members: membersNamed(...ids), breaker: { failureThreshold: 1e9 } })
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

  it('admits no more probes of a half-open member than halfOpenMax', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a'),
      breaker: { halfOpenMax: 3, timeoutDuration: 100 },
    })
    pool.breaker('a').trip()
    await clock.advance(100)
    const taken = Array.from({ length: CALLS }, () => pool.select(undefined, [], undefined))
    expect(taken.filter((selection) => selection !== undefined)).toHaveLength(3)
  })
})
