import { afterEach, describe, expect, it, vi } from 'vitest'
import type { MemberOutcome, Pool } from '../../src/index.js'
import type { Selection, SelectionOutcome } from '../../src/pool/members/member-pool.js'
import {
  ABORTED,
  answered,
  createPool,
  FAILURE,
  membersNamed,
  SUCCESS,
  selectMember,
  thrown,
  withCode,
  withStatus,
} from './setup.js'

afterEach(() => vi.restoreAllMocks())

const proxies = { memberFaults: [403, 407, 429, 451], breaker: { failureThreshold: 1 } }
const banned = thrown(withStatus(403))

/** Runs one call whose attempts have these outcomes; returns the results of recordOutcome. */
function run(pool: Pool<string>, ...outcomes: SelectionOutcome[]): boolean[] {
  const selections: Selection<string>[] = []
  return outcomes.map((outcome) => {
    const selection = selectMember(pool, undefined, selections)
    selections.push(selection)
    return pool.recordOutcome(selection, outcome, selections)
  })
}

const states = (pool: Pool<string>) => pool.members().map(({ id }) => pool.breaker(id).state)
const failures = (pool: Pool<string>) => pool.members().map(({ id }) => pool.stats(id).failureCount)

describe('a status in memberFaults', () => {
  it.each([403, 407, 451])('%d causes a failover, thrown or returned', (status) => {
    expect(run(createPool(proxies).pool, thrown(withStatus(status)))).toEqual([true])
    expect(run(createPool(proxies).pool, answered(status))).toEqual([true])
  })

  it('has no effect unless it is configured', () => {
    const { pool } = createPool()
    expect(run(pool, banned, SUCCESS)).toEqual([false, false])
    expect(failures(pool)).toEqual([0, 0, 0])
  })

  it('counts against the member when another member answers differently', () => {
    const { pool } = createPool(proxies)
    expect(run(pool, banned, SUCCESS)).toEqual([true, false])
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 1, successCount: 0 })
    expect(pool.stats('b')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 1 })
  })

  it('does not count when all members answer the same, because the target causes it', () => {
    const { pool } = createPool(proxies)
    run(pool, banned, banned, banned)
    expect(states(pool)).toEqual(['closed', 'closed', 'closed'])
    expect(failures(pool)).toEqual([0, 0, 0])
    expect(pool.stats('a').successCount).toBe(0)
  })

  it('counts against all members that answered with it before', () => {
    const { pool } = createPool(proxies)
    run(pool, banned, thrown(withStatus(407)), answered(200))
    expect(states(pool)).toEqual(['open', 'open', 'closed'])
  })

  it('counts only once', () => {
    const { pool } = createPool({ ...proxies, breaker: { failureThreshold: 9 } })
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
    ['an abort', ABORTED, 0],
    ['a programming error', thrown(new TypeError('oh')), 0],
  ])('is resolved by %s of another member: %#', (_, outcome, count) => {
    const { pool } = createPool(proxies)
    run(pool, banned, outcome)
    expect(failures(pool)[0]).toBe(count)
  })

  it('is not resolved by another attempt on the same member', () => {
    const { pool } = createPool({ ...proxies, members: membersNamed('a') })
    run(pool, banned, SUCCESS)
    expect(pool.stats('a')).toMatchObject({ failureCount: 0, successCount: 1 })
  })

  it('counts at once when another member has already answered', () => {
    const { pool } = createPool(proxies)
    const selections = [selectMember(pool)]
    selections.push(selectMember(pool, undefined, selections))
    const [first, second] = selections as [Selection<string>, Selection<string>]
    pool.recordOutcome(second, SUCCESS, selections)
    expect(pool.recordOutcome(first, banned, selections)).toBe(true)
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
  })

  it('counts only in the breaker epoch that admitted its attempt', () => {
    const { pool } = createPool(proxies)
    const first = selectMember(pool)
    pool.recordOutcome(first, banned, [first])
    pool.breaker('a').trip()
    pool.breaker('a').reset()
    const second = selectMember(pool, undefined, [first])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(states(pool)).toEqual(['closed', 'closed', 'closed'])
    expect(failures(pool)).toEqual([1, 0, 0])
  })

  it('opens a half-open breaker again', async () => {
    const { pool, clock } = createPool({ ...proxies, breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    run(pool, banned, SUCCESS)
    expect(states(pool)).toEqual(['open', 'closed', 'closed'])
    expect(pool.status('a')).toBe('open')
  })

  it('does not count when the member was removed', () => {
    const { pool } = createPool(proxies)
    const first = selectMember(pool)
    pool.recordOutcome(first, banned, [first])
    pool.remove('a')
    pool.add({ id: 'd', value: '' })
    const second = selectMember(pool, undefined, [first])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(pool.stats('d').failureCount).toBe(0)
  })

  it('counts at once when it is a failure for the breaker anyway', () => {
    const { pool } = createPool({ memberFaults: [502], breaker: { failureThreshold: 1 } })
    expect(run(pool, thrown(withStatus(502)))).toEqual([true])
    expect(states(pool)[0]).toBe('open')
    expect(failures(pool)[0]).toBe(1)
  })

  it('changes the score when it counts', () => {
    const { pool } = createPool({ ...proxies, strategy: 'score', breaker: { failureThreshold: 9 } })
    run(pool, { ...banned, duration: 10 })
    expect(pool.stats('a').score).toBe(0.5)
    run(pool, { ...banned, duration: 10 }, { ...SUCCESS, duration: 20 })
    expect(pool.stats('b').score).toBeLessThan(0.5)
  })
})

describe('memberFault', () => {
  it('decides alone which outcomes are member faults', () => {
    const seen: MemberOutcome<string>[] = []
    const { pool } = createPool({
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

  it('receives the error and its status', () => {
    const seen: MemberOutcome[] = []
    const { pool } = createPool({ memberFault: (outcome) => seen.push(outcome) > 9 })
    const error = withStatus(418)
    expect(run(pool, thrown(error), answered(500))).toEqual([false, false])
    expect(seen[0]).toEqual({ member: pool.members()[0], error, statusCode: 418 })
    expect(seen[1]).toMatchObject({ value: expect.any(Response), statusCode: 500 })
  })

  it('is combined with memberFaults', () => {
    const { pool } = createPool({ memberFaults: [403], memberFault: ({ statusCode }) => statusCode === 404 })
    expect(run(pool, banned, thrown(withStatus(404)), thrown(withStatus(405)))).toEqual([true, true, false])
  })

  it('requires true, not a truthy value', () => {
    const { pool } = createPool({ memberFault: (() => 'yes') as unknown as () => boolean })
    expect(run(pool, FAILURE)).toEqual([false])
  })

  it('counts as false when it throws, and the error is reported once', () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { pool } = createPool({
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
