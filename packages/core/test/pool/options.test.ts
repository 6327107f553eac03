import { describe, expect, it } from 'vitest'
import { isHoldfastError, type Member, Pool, type PoolOptions } from '../../src/index.js'
import { STRATEGY_NAMES } from '../../src/pool/strategies/index.js'
import { createPool, membersNamed, problemsOf } from './setup.js'

const problems = (options: unknown) => problemsOf(() => new Pool(options as PoolOptions))

/** The problems of a pool with an id and these options. */
const problemsWith = (options: object) => problems({ id: 'p', ...options })

describe('the options of a pool', () => {
  it('require an id', () => {
    expect(problems({})).toEqual(['id: expected a string that is not empty, got undefined'])
    expect(problems({ id: undefined })).toEqual(['id: expected a string that is not empty, got undefined'])
    expect(problems({ id: '' })).toEqual(['id: expected a string that is not empty, got ""'])
    expect(problems({ id: 7 })).toEqual(['id: expected a string that is not empty, got 7'])
    expect(problems({ id: '\ud800' })).toHaveLength(1)
    expect(problems({ id: '😀' })).toEqual([])
    expect(problems(null)).toContain('options: expected an object, got null')
  })

  it.each<[object, string]>([
    [{ members: {} }, 'members: expected an array of members, got an object'],
    [
      { strategy: 'best' },
      `strategy: expected one of ${STRATEGY_NAMES.join(', ')}, or a function, got "best"`,
    ],
    [{ breaker: 5 }, 'breaker: expected an object, got 5'],
    [{ maxEjected: 1.1 }, 'maxEjected: expected a number from 0 to 1, got 1.1'],
    [{ panicThreshold: -1 }, 'panicThreshold: expected a number from 0 to 1, got -1'],
    [{ memberFaults: 403 }, 'memberFaults: expected an array of HTTP statuses, got 403'],
    [{ memberFaults: [99] }, 'memberFaults: expected an array of HTTP statuses, got [99]'],
    [{ memberFaults: [600] }, 'memberFaults: expected an array of HTTP statuses, got [600]'],
    [{ memberFault: true }, 'memberFault: expected a function, got true'],
    [{ clock: {} }, 'clock: expected a Clock with now, wall, setTimer and clearTimer, got an object'],
    [{ random: 0.5 }, 'random: expected a function, got 0.5'],
    [
      { rotation: 'random' },
      'rotation: expected one of id, members, strategy, breaker, maxEjected, panicThreshold, memberFaults, memberFault, clock, random, got an unknown option',
    ],
    [{ breaker: { failureThreshold: 0 } }, 'breaker.failureThreshold: expected a whole number from 1, got 0'],
  ])('are rejected when they are invalid: %j', (options, problem) => {
    expect(problemsWith(options)).toEqual([problem])
  })

  it.each<object>([
    { maxEjected: 0, panicThreshold: 1, memberFaults: [100, 599] },
    { maxEjected: undefined, strategy: undefined },
    { members: [] },
    { breaker: {} },
  ])('are accepted when they are valid: %j', (options) => {
    expect(problemsWith(options)).toEqual([])
  })

  it('are rejected with all problems at once, including those of members', () => {
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
      'maxEjected: expected a number from 0 to 1, got 2',
      'members.0.weight: expected a number from 0 to 1000000000, got -1',
      'members.1: expected an object, got null',
      'members.1.id: expected a string that is not empty, got undefined',
      'members.2.breaker.halfOpenMax: expected a whole number from 1, got 0',
    ])
    expect(isHoldfastError(error) && error.message).toContain('invalid options of the pool p: ')
    expect(() => new Pool({} as PoolOptions)).toThrow('invalid options of a pool: ')
  })

  it('are copied', () => {
    const memberFaults = [403]
    const { pool } = createPool({ memberFaults })
    memberFaults.push(500)
    const selection = pool.select(undefined, [], undefined)
    const outcome = { hasThrown: true, result: new Error(), duration: 0, breakerOutcome: undefined } as const
    expect(
      selection &&
        pool.recordOutcome(
          selection,
          { ...outcome, classification: { category: 'permanent', kind: 'unknown', httpStatus: 500 } },
          [],
        ),
    ).toBe(false)
  })
})

describe('a member of a pool', () => {
  const problemsOfMember = (member: unknown) => {
    const { pool } = createPool()
    const found = problemsOf(() => pool.add(member as Member<string>))
    expect(pool.size).toBe(found.length > 0 ? 3 : 4)
    return found
  }

  it.each<[unknown, string]>([
    [{ value: 1 }, 'member.id: expected a string that is not empty, got undefined'],
    [{ id: '', value: 1 }, 'member.id: expected a string that is not empty, got ""'],
    [{ id: 5, value: 1 }, 'member.id: expected a string that is not empty, got 5'],
    [{ id: 'x\udc00y', value: 1 }, 'member.id: expected a string that is not empty, got "x\\udc00y"'],
    [{ id: 'a', value: 1 }, 'member.id: expected an id that no other member has, got "a"'],
    [{ id: 'x', weight: '5' }, 'member.weight: expected a number from 0 to 1000000000, got "5"'],
    [{ id: 'x', weight: Number.NaN }, 'member.weight: expected a number from 0 to 1000000000, got NaN'],
    [{ id: 'x', weight: 1e9 + 1 }, 'member.weight: expected a number from 0 to 1000000000, got 1000000001'],
    [{ id: 'x', region: 5 }, 'member.region: expected a string, got 5'],
    [{ id: 'x', cost: -1 }, 'member.cost: expected a number from 0 to 1000000000000000, got -1'],
    [{ id: 'x', cost: Infinity }, 'member.cost: expected a number from 0 to 1000000000000000, got Infinity'],
    [{ id: 'x', tags: 'fast' }, 'member.tags: expected an array of strings, got "fast"'],
    [{ id: 'x', tags: [1] }, 'member.tags: expected an array of strings, got [1]'],
    [{ id: 'x', metadata: 'm' }, 'member.metadata: expected an object, got "m"'],
    [{ id: 'x', breaker: true }, 'member.breaker: expected an object, got true'],
    [
      { id: 'x', breaker: { timeoutDuration: 0 } },
      expect.stringMatching(/^member\.breaker\.timeoutDuration: expected .*, got 0$/),
    ],
    [
      { id: 'x', url: 'http://' },
      'member.url: expected one of id, value, weight, region, cost, tags, metadata, breaker, got an unknown option',
    ],
    [{ id: 'x', constructor: 1 }, expect.stringContaining('member.constructor: expected one of id, value')],
  ])('is rejected when it is invalid: %j', (member, problem) => {
    expect(problemsOfMember(member)).toEqual([problem])
  })

  it.each([
    { id: 'x', value: null },
    { id: 'x', value: undefined, weight: undefined, breaker: undefined },
    { id: '😀', value: 1, weight: 0, region: '', cost: 0, tags: [], metadata: {}, breaker: {} },
    { id: 'x', value: 1, weight: 1e9, cost: 1e15, tags: ['t'] },
  ])('is accepted when it is valid: %j', (member) => {
    expect(problemsOfMember(member)).toEqual([])
  })

  it('is rejected when it is not an object', () => {
    expect(problemsOfMember('x')).toEqual([
      'member: expected an object, got "x"',
      'member.id: expected a string that is not empty, got undefined',
    ])
    expect(problemsOfMember(undefined)).toHaveLength(2)
  })

  it('is rejected with the name of the pool', () => {
    expect(() => createPool().pool.add({ id: '', value: '' })).toThrow(
      'invalid options of a member of the pool p: member.id',
    )
  })

  it('is rejected when its id is already in the options', () => {
    expect(problemsWith({ members: membersNamed('a', 'b', 'a') })).toEqual([
      'members.2.id: expected an id that no other member has, got "a"',
    ])
  })

  it('that does not exist causes an error with a code', () => {
    const { pool } = createPool()
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
