import { describe, expect, it } from 'vitest'
import { isHoldfastError, type Member, Pool, type PoolOptions } from '../../src/index.js'
import { called, made, problemsOf } from './setup.js'

const problems = (options: unknown) => problemsOf(() => new Pool(options as PoolOptions))

/** The problems of a pool that has an id and this besides. */
const problemsWith = (options: object) => problems({ id: 'p', ...options })

const STRATEGIES = 'round_robin, random, weighted, least_used, least_latency, score, sticky, region, cost'

describe('the options of a pool', () => {
  it('need an id', () => {
    expect(problems({})).toEqual(['id: got undefined, takes a string that is not empty'])
    expect(problems({ id: undefined })).toEqual(['id: got undefined, takes a string that is not empty'])
    expect(problems({ id: '' })).toEqual(['id: got "", takes a string that is not empty'])
    expect(problems({ id: 7 })).toEqual(['id: got 7, takes a string that is not empty'])
    expect(problems({ id: '\ud800' })).toHaveLength(1)
    expect(problems({ id: '😀' })).toEqual([])
    expect(problems(null)).toContain('options: got null, takes an object')
  })

  it.each<[object, string]>([
    [{ members: {} }, 'members: got an object, takes an array of members'],
    [{ strategy: 'best' }, `strategy: got "best", takes one of ${STRATEGIES}, or a function`],
    [{ breaker: 5 }, 'breaker: got 5, takes an object'],
    [{ maxEjected: 1.1 }, 'maxEjected: got 1.1, takes a number from 0 to 1'],
    [{ panicThreshold: -1 }, 'panicThreshold: got -1, takes a number from 0 to 1'],
    [{ memberFaults: 403 }, 'memberFaults: got 403, takes an array of HTTP statuses'],
    [{ memberFaults: [99] }, 'memberFaults: got [99], takes an array of HTTP statuses'],
    [{ memberFaults: [600] }, 'memberFaults: got [600], takes an array of HTTP statuses'],
    [{ memberFault: true }, 'memberFault: got true, takes a function'],
    [{ clock: {} }, 'clock: got an object, takes a Clock with now, wall, setTimer and clearTimer'],
    [{ random: 0.5 }, 'random: got 0.5, takes a function'],
    [
      { rotation: 'random' },
      'rotation: got "random", but the options are id, members, strategy, breaker, maxEjected, panicThreshold, memberFaults, memberFault, clock, random',
    ],
    [{ breaker: { failureThreshold: 0 } }, 'breaker.failureThreshold: got 0, takes a whole number from 1'],
  ])('are refused where they are wrong: %j', (options, problem) => {
    expect(problemsWith(options)).toEqual([problem])
  })

  it.each<object>([
    { maxEjected: 0, panicThreshold: 1, memberFaults: [100, 599] },
    { maxEjected: undefined, strategy: undefined },
    { members: [] },
    { breaker: {} },
  ])('are taken where they are right: %j', (options) => {
    expect(problemsWith(options)).toEqual([])
  })

  it('are refused all at once, members too', () => {
    const members = [
      { id: 'a', value: 1, weight: -1 },
      null,
      { id: 'b', value: 1, breaker: { halfOpenMax: 0 } },
    ]
    const error: unknown = (() => {
      try {
        return new Pool({ id: 'p', maxEjected: 2, members } as unknown as PoolOptions)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(isHoldfastError(error, 'INVALID_OPTIONS') && error.details).toEqual([
      'maxEjected: got 2, takes a number from 0 to 1',
      'members.0.weight: got -1, takes a number from 0 to 1000000000',
      'members.1: got null, takes an object',
      'members.1.id: got undefined, takes a string that is not empty',
      'members.2.breaker.halfOpenMax: got 0, takes a whole number from 1',
    ])
    expect(isHoldfastError(error) && error.message).toContain('the pool p cannot be made: ')
    expect(() => new Pool({} as PoolOptions)).toThrow('a pool cannot be made: ')
  })

  it('are copied', () => {
    const memberFaults = [403]
    const { pool } = made({ memberFaults })
    memberFaults.push(500)
    const pick = pool.select(undefined, [], undefined)
    const outcome = { hasThrown: true, result: new Error(), duration: 0, breakerOutcome: undefined } as const
    expect(
      pick &&
        pool.recordOutcome(
          pick,
          { ...outcome, classification: { category: 'permanent', kind: 'unknown', httpStatus: 500 } },
          [],
        ),
    ).toBe(false)
  })
})

describe('a member', () => {
  const problemsOfMember = (member: unknown) => {
    const { pool } = made()
    const found = problemsOf(() => pool.add(member as Member<string>))
    expect(pool.size).toBe(found.length > 0 ? 3 : 4)
    return found
  }

  it.each<[unknown, string]>([
    [{ value: 1 }, 'member.id: got undefined, takes a string that is not empty'],
    [{ id: '', value: 1 }, 'member.id: got "", takes a string that is not empty'],
    [{ id: 5, value: 1 }, 'member.id: got 5, takes a string that is not empty'],
    [{ id: 'x\udc00y', value: 1 }, 'member.id: got "x\\udc00y", takes a string that is not empty'],
    [{ id: 'a', value: 1 }, 'member.id: got "a", but another member has it'],
    [{ id: 'x', weight: '5' }, 'member.weight: got "5", takes a number from 0 to 1000000000'],
    [{ id: 'x', weight: Number.NaN }, 'member.weight: got NaN, takes a number from 0 to 1000000000'],
    [{ id: 'x', weight: 1e9 + 1 }, 'member.weight: got 1000000001, takes a number from 0 to 1000000000'],
    [{ id: 'x', region: 5 }, 'member.region: got 5, takes a string'],
    [{ id: 'x', cost: -1 }, 'member.cost: got -1, takes a number from 0 to 1000000000000000'],
    [{ id: 'x', cost: Infinity }, 'member.cost: got Infinity, takes a number from 0 to 1000000000000000'],
    [{ id: 'x', tags: 'fast' }, 'member.tags: got "fast", takes an array of strings'],
    [{ id: 'x', tags: [1] }, 'member.tags: got [1], takes an array of strings'],
    [{ id: 'x', metadata: 'm' }, 'member.metadata: got "m", takes an object'],
    [{ id: 'x', breaker: true }, 'member.breaker: got true, takes an object'],
    [
      { id: 'x', breaker: { timeoutDuration: 0 } },
      expect.stringContaining('member.breaker.timeoutDuration: got 0'),
    ],
    [
      { id: 'x', url: 'http://' },
      'member.url: got "http://", but the options are id, value, weight, region, cost, tags, metadata, breaker',
    ],
    [{ id: 'x', constructor: 1 }, expect.stringContaining('member.constructor: got 1, but the options are')],
  ])('is refused where it is wrong: %j', (member, problem) => {
    expect(problemsOfMember(member)).toEqual([problem])
  })

  it.each([
    { id: 'x', value: null },
    { id: 'x', value: undefined, weight: undefined, breaker: undefined },
    { id: '😀', value: 1, weight: 0, region: '', cost: 0, tags: [], metadata: {}, breaker: {} },
    { id: 'x', value: 1, weight: 1e9, cost: 1e15, tags: ['t'] },
  ])('is taken where it is right: %j', (member) => {
    expect(problemsOfMember(member)).toEqual([])
  })

  it('is refused where it is no object', () => {
    expect(problemsOfMember('x')).toEqual([
      'member: got "x", takes an object',
      'member.id: got undefined, takes a string that is not empty',
    ])
    expect(problemsOfMember(undefined)).toHaveLength(2)
  })

  it('is refused with the name of the pool', () => {
    expect(() => made().pool.add({ id: '', value: '' })).toThrow(
      'a member of the pool p cannot be made: member.id',
    )
  })

  it('cannot be there twice from the start', () => {
    expect(problemsWith({ members: called('a', 'b', 'a') })).toEqual([
      'members.2.id: got "a", but another member has it',
    ])
  })

  it('that is unknown is an error with a code', () => {
    const { pool } = made()
    const uses = [
      () => pool.breaker('x'),
      () => pool.stats('x'),
      () => pool.status('x'),
      () => pool.remove('x'),
      () => pool.drain('x'),
      () => pool.enable('x'),
    ]
    for (const use of uses) {
      expect(problemsOf(use)).toEqual(['the pool p has no member "x"'])
      expect(use).toThrow('the pool p has no member "x"')
    }
  })
})
