import { describe, expect, it } from 'vitest'
import { call, called, calls, FAILURE, made, SUCCESS, taken, tally } from './setup.js'

const took = (duration: number) => ({ ...SUCCESS, duration })

/** A source of chance that gives these numbers in turn, over and over. */
const chances = (...numbers: number[]) => {
  let i = 0
  return () => numbers[i++ % numbers.length] as number
}

describe('least_latency', () => {
  it('chooses the quicker of two', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('slow', 'quick') })
    for (let i = 0; i < 2; i++) {
      const pick = taken(pool)
      pool.recordOutcome(pick, took(pick.member.id === 'slow' ? 200 : 20), [pick])
    }
    expect(tally(calls(pool, 50))).toEqual({ quick: 50 })
  })

  it('tries those first that were never used', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a', 'b') })
    const first = call(pool, took(0))
    expect(call(pool, took(0))).not.toBe(first)
  })

  it('draws two different ones, also beside those that were tried', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a', 'b', 'c') })
    const times = { a: 30, b: 20, c: 10 } as Record<string, number>
    for (let i = 0; i < 30; i++) {
      const pick = taken(pool)
      pool.recordOutcome(pick, took(times[pick.member.id] as number), [pick])
    }
    for (let i = 0; i < 50; i++) {
      const first = taken(pool)
      expect(first.member.id).not.toBe('a')
      const second = taken(pool, undefined, [first])
      // Of the two that are left, the quicker one.
      expect(second.member.id).toBe(first.member.id === 'c' ? 'b' : 'c')
      const third = taken(pool, undefined, [first, second])
      expect(third.member.id).toBe('a')
    }
  })

  it('takes the first drawn where both are equal', () => {
    const { pool } = made({
      strategy: 'least_latency',
      members: called('a', 'b', 'c'),
      random: chances(0, 0, 0.99, 0.99, 0.5, 0.5),
    })
    expect(calls(pool, 3)).toEqual(['a', 'c', 'b'])
  })

  it('moves the average a fifth of the way with each result', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    expect(pool.stats('a').latency).toBeUndefined()
    call(pool, took(100))
    expect(pool.stats('a').latency).toBe(100)
    call(pool, took(200))
    expect(pool.stats('a').latency).toBe(120)
    call(pool, took(0))
    expect(pool.stats('a').latency).toBe(96)
  })

  it('counts a quick failure as twice the average, and a slow one as it is', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    call(pool, took(100))
    call(pool, FAILURE)
    expect(pool.stats('a').latency).toBe(120)
    call(pool, { ...FAILURE, duration: 1120 })
    expect(pool.stats('a').latency).toBe(320)
  })

  it('takes a first failure for as long as it took', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    call(pool, { ...FAILURE, duration: 70 })
    expect(pool.stats('a').latency).toBe(70)
  })

  it('lets one that was slow once come back when it has not been used for a while', async () => {
    const { pool, clock } = made({ strategy: 'least_latency', members: called('a', 'b') })
    const slow = call(pool, took(150))
    const quick = call(pool, took(100))
    expect(quick).not.toBe(slow)
    expect(tally(Array.from({ length: 20 }, () => call(pool, took(100))))).toEqual({ [quick]: 20 })
    await clock.advance(6000)
    call(pool, took(100))
    // 150 / 1.6 against 100.
    expect(call(pool, took(150))).toBe(slow)
    expect(call(pool, took(100))).toBe(quick)
  })

  it.each([
    [1001, 'slow'],
    [999, 'quick'],
  ])('looks half as slow after ten seconds without use: 2000 against %d', async (other, expected) => {
    const { pool, clock } = made({ strategy: 'least_latency', members: called('slow', 'quick') })
    pool.drain('quick')
    const slow = taken(pool)
    await clock.advance(2000)
    pool.recordOutcome(slow, took(2000), [slow])
    pool.drain('slow')
    pool.enable('quick')
    await clock.advance(10_000 - other)
    const quick = taken(pool)
    await clock.advance(other)
    pool.recordOutcome(quick, took(other), [quick])
    pool.enable('slow')
    expect(pool.pick()?.id).toBe(expected)
  })

  it('knows nothing of the member that was in the place before', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    call(pool, took(100))
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(pool.stats('b').latency).toBeUndefined()
  })

  it('takes an average of 0 for one', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    call(pool, took(0))
    expect(pool.stats('a').latency).toBe(0)
    call(pool, took(10))
    expect(pool.stats('a').latency).toBe(2)
  })

  it('chooses the only one', () => {
    const { pool } = made({ strategy: 'least_latency', members: called('a') })
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    pool.drain('a')
    expect(pool.pick()).toBeUndefined()
  })
})
