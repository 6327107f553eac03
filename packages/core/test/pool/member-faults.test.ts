import { afterEach, describe, expect, it, vi } from 'vitest'
import type { MemberOutcome, Pool } from '../../src/index.js'
import type { Selection, SelectionOutcome } from '../../src/pool/members/member-pool.js'
import {
  answered,
  called,
  FAILURE,
  made,
  NOTHING,
  SUCCESS,
  taken,
  thrown,
  withCode,
  withStatus,
} from './setup.js'

afterEach(() => vi.restoreAllMocks())

const proxies = { memberFaults: [403, 407, 429, 451], breaker: { failureThreshold: 1 } }
const banned = thrown(withStatus(403))

/** One call whose attempts end like this; what settle said of each. */
function run(pool: Pool<string>, ...outcomes: SelectionOutcome[]): boolean[] {
  const picks: Selection<string>[] = []
  return outcomes.map((outcome) => {
    const pick = taken(pool, undefined, picks)
    picks.push(pick)
    return pool.recordOutcome(pick, outcome, picks)
  })
}

const states = (pool: Pool<string>) => pool.members().map(({ id }) => pool.breaker(id).state)
const failures = (pool: Pool<string>) => pool.members().map(({ id }) => pool.stats(id).failureCount)

describe("a status that is a member's fault", () => {
  it.each([403, 407, 451])('%d fails over, thrown or returned', (status) => {
    expect(run(made(proxies).pool, thrown(withStatus(status)))).toEqual([true])
    expect(run(made(proxies).pool, answered(status))).toEqual([true])
  })

  it('is none unless the pool is told so', () => {
    const { pool } = made()
    expect(run(pool, banned, SUCCESS)).toEqual([false, false])
    expect(failures(pool)).toEqual([0, 0, 0])
  })

  it('counts against the member when another answers otherwise', () => {
    const { pool } = made(proxies)
    expect(run(pool, banned, SUCCESS)).toEqual([true, false])
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 1, successCount: 0 })
    expect(pool.stats('b')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 1 })
  })

  it('counts for nothing when all answer the same: it is the target that says so', () => {
    const { pool } = made(proxies)
    run(pool, banned, banned, banned)
    expect(states(pool)).toEqual(['closed', 'closed', 'closed'])
    expect(failures(pool)).toEqual([0, 0, 0])
    expect(pool.stats('a').successCount).toBe(0)
  })

  it('counts against all who answered so before', () => {
    const { pool } = made(proxies)
    run(pool, banned, thrown(withStatus(407)), answered(200))
    expect(states(pool)).toEqual(['open', 'open', 'closed'])
  })

  it('counts once', () => {
    const { pool } = made({ ...proxies, breaker: { failureThreshold: 9 } })
    run(pool, banned, SUCCESS, SUCCESS)
    expect(failures(pool)).toEqual([1, 0, 0])
    expect(pool.breaker('a').failureCount).toBe(1)
  })

  it.each([
    ['a success', SUCCESS, 1],
    ['a response', answered(200), 1],
    ['a status that no retry helps', thrown(withStatus(404)), 1],
    ['a failure of its own', FAILURE, 0],
    ['an error of a server', thrown(withStatus(503)), 0],
    ['a refusal', thrown(withCode('ECONNREFUSED')), 0],
    ['an abort', NOTHING, 0],
    ['a programming error', thrown(new TypeError('oh')), 0],
  ])('is judged by %s of another: %#', (_, outcome, count) => {
    const { pool } = made(proxies)
    run(pool, banned, outcome)
    expect(failures(pool)[0]).toBe(count)
  })

  it('is not judged by the same member, tried once more', () => {
    const { pool } = made({ ...proxies, members: called('a') })
    run(pool, banned, SUCCESS)
    expect(pool.stats('a')).toMatchObject({ failureCount: 0, successCount: 1 })
  })

  it('counts at once when another has answered already', () => {
    const { pool } = made(proxies)
    const picks = [taken(pool)]
    picks.push(taken(pool, undefined, picks))
    const [first, second] = picks as [Selection<string>, Selection<string>]
    pool.recordOutcome(second, SUCCESS, picks)
    expect(pool.recordOutcome(first, banned, picks)).toBe(true)
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
  })

  it('counts only in the epoch that let its call through', () => {
    const { pool } = made(proxies)
    const first = taken(pool)
    pool.recordOutcome(first, banned, [first])
    pool.breaker('a').trip()
    pool.breaker('a').reset()
    const second = taken(pool, undefined, [first])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(states(pool)).toEqual(['closed', 'closed', 'closed'])
    expect(failures(pool)).toEqual([1, 0, 0])
  })

  it('opens a breaker again that was being tested', async () => {
    const { pool, clock } = made({ ...proxies, breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    run(pool, banned, SUCCESS)
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
    expect(pool.status('a')).toBe('open')
  })

  it('counts for nothing when the member is gone', () => {
    const { pool } = made(proxies)
    const first = taken(pool)
    pool.recordOutcome(first, banned, [first])
    pool.remove('a')
    pool.add({ id: 'd', value: '' })
    const second = taken(pool, undefined, [first])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(pool.stats('d').failureCount).toBe(0)
  })

  it('counts at once where it is a failure anyway', () => {
    const { pool } = made({ memberFaults: [502], breaker: { failureThreshold: 1 } })
    expect(run(pool, thrown(withStatus(502)))).toEqual([true])
    expect(states(pool)[0]).toBe('open')
    expect(failures(pool)[0]).toBe(1)
  })

  it('goes into the score when it counts', () => {
    const { pool } = made({ ...proxies, strategy: 'score', breaker: { failureThreshold: 9 } })
    run(pool, { ...banned, duration: 10 })
    expect(pool.stats('a').score).toBe(0.5)
    run(pool, { ...banned, duration: 10 }, { ...SUCCESS, duration: 20 })
    expect(pool.stats('b').score).toBeLessThan(0.5)
  })
})

describe('memberFault', () => {
  it('says by itself which outcomes speak of the member', () => {
    const seen: MemberOutcome<string>[] = []
    const { pool } = made({
      breaker: { failureThreshold: 1 },
      memberFault: (outcome) => {
        seen.push(outcome)
        return outcome.value === 'captcha'
      },
    })
    expect(run(pool, { ...SUCCESS, result: 'captcha' }, SUCCESS)).toEqual([true, false])
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
    const [first, second] = pool.members()
    expect(seen).toEqual([
      { member: first, value: 'captcha' },
      { member: second, value: 'fine' },
    ])
  })

  it('is told what was thrown and the status', () => {
    const seen: MemberOutcome[] = []
    const { pool } = made({ memberFault: (outcome) => seen.push(outcome) > 9 })
    const error = withStatus(418)
    expect(run(pool, thrown(error), answered(500))).toEqual([false, false])
    expect(seen[0]).toEqual({ member: pool.members()[0], error, statusCode: 418 })
    expect(seen[1]).toMatchObject({ value: expect.any(Response), statusCode: 500 })
  })

  it('goes together with the statuses', () => {
    const { pool } = made({ memberFaults: [403], memberFault: ({ statusCode }) => statusCode === 404 })
    expect(run(pool, banned, thrown(withStatus(404)), thrown(withStatus(405)))).toEqual([true, true, false])
  })

  it('takes nothing but true for yes', () => {
    const { pool } = made({ memberFault: (() => 'yes') as unknown as () => boolean })
    expect(run(pool, FAILURE)).toEqual([false])
  })

  it('that throws says no and is reported once', () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { pool } = made({
      memberFault: () => {
        throw new Error('oh')
      },
    })
    expect(run(pool, FAILURE, SUCCESS)).toEqual([false, false])
    expect(pool.stats('b').successCount).toBe(1)
    expect(error).toHaveBeenCalledTimes(1)
    expect(error.mock.calls[0]?.[0]).toContain('memberFault')
  })
})
