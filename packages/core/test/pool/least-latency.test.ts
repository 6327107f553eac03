import { describe, expect, it } from 'vitest'
import { call, calls, countById, createPool, FAILURE, membersNamed, SUCCESS, selectMember } from './setup.js'

const took = (duration: number) => ({ ...SUCCESS, duration })

/** A random source that returns these numbers in turn, repeatedly. */
const chances = (...numbers: number[]) => {
  let i = 0
  return () => numbers[i++ % numbers.length] as number
}

describe('the strategy least_latency', () => {
  it('selects the faster of two members', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('slow', 'quick') })
    for (let i = 0; i < 2; i++) {
      const selection = selectMember(pool)
      pool.recordOutcome(selection, took(selection.member.id === 'slow' ? 200 : 20), [selection])
    }
    expect(countById(calls(pool, 50))).toEqual({ quick: 50 })
  })

  it('selects members without results first', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a', 'b') })
    const first = call(pool, took(0))
    expect(call(pool, took(0))).not.toBe(first)
  })

  it('draws two different members that were not tried', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a', 'b', 'c') })
    const times = { a: 30, b: 20, c: 10 } as Record<string, number>
    for (let i = 0; i < 30; i++) {
      const selection = selectMember(pool)
      pool.recordOutcome(selection, took(times[selection.member.id] as number), [selection])
    }
    for (let i = 0; i < 50; i++) {
      const first = selectMember(pool)
      expect(first.member.id).not.toBe('a')
      const second = selectMember(pool, undefined, [first])
      // The faster of the two remaining members is selected.
      expect(second.member.id).toBe(first.member.id === 'c' ? 'b' : 'c')
      const third = selectMember(pool, undefined, [first, second])
      expect(third.member.id).toBe('a')
    }
  })

  it('selects the first drawn when both are equal', () => {
    const { pool } = createPool({
      strategy: 'least_latency',
      members: membersNamed('a', 'b', 'c'),
      random: chances(0, 0, 0.99, 0.99, 0.5, 0.5),
    })
    expect(calls(pool, 3)).toEqual(['a', 'c', 'b'])
  })

  it('moves the average by a fifth of the difference with each result', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    expect(pool.stats('a').latency).toBeUndefined()
    call(pool, took(100))
    expect(pool.stats('a').latency).toBe(100)
    call(pool, took(200))
    expect(pool.stats('a').latency).toBe(120)
    call(pool, took(0))
    expect(pool.stats('a').latency).toBe(96)
  })

  it('counts a fast failure as twice the average and a slow one as its duration', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    call(pool, took(100))
    call(pool, FAILURE)
    expect(pool.stats('a').latency).toBe(120)
    call(pool, { ...FAILURE, duration: 1120 })
    expect(pool.stats('a').latency).toBe(320)
  })

  it('counts a first failure as its duration', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    call(pool, { ...FAILURE, duration: 70 })
    expect(pool.stats('a').latency).toBe(70)
  })

  it('selects a member that was slow again after it was idle', async () => {
    const { pool, clock } = createPool({ strategy: 'least_latency', members: membersNamed('a', 'b') })
    const slow = call(pool, took(150))
    const quick = call(pool, took(100))
    expect(quick).not.toBe(slow)
    expect(countById(Array.from({ length: 20 }, () => call(pool, took(100))))).toEqual({ [quick]: 20 })
    await clock.advance(6000)
    call(pool, took(100))
    // 150 / 1.6 against 100.
    expect(call(pool, took(150))).toBe(slow)
    expect(call(pool, took(100))).toBe(quick)
  })

  it.each([
    [1001, 'slow'],
    [999, 'quick'],
  ])('halves an average after ten idle seconds: 2000 against %d', async (other, expected) => {
    const { pool, clock } = createPool({ strategy: 'least_latency', members: membersNamed('slow', 'quick') })
    pool.drain('quick')
    const slow = selectMember(pool)
    await clock.advance(2000)
    pool.recordOutcome(slow, took(2000), [slow])
    pool.drain('slow')
    pool.enable('quick')
    await clock.advance(10_000 - other)
    const quick = selectMember(pool)
    await clock.advance(other)
    pool.recordOutcome(quick, took(other), [quick])
    pool.enable('slow')
    expect(pool.pick()?.id).toBe(expected)
  })

  it('does not use the average of the previous member of the slot', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    call(pool, took(100))
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(pool.stats('b').latency).toBeUndefined()
  })

  it('accepts an average of 0', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    call(pool, took(0))
    expect(pool.stats('a').latency).toBe(0)
    call(pool, took(10))
    expect(pool.stats('a').latency).toBe(2)
  })

  it('selects the only member', () => {
    const { pool } = createPool({ strategy: 'least_latency', members: membersNamed('a') })
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    pool.drain('a')
    expect(pool.pick()).toBeUndefined()
  })
})
