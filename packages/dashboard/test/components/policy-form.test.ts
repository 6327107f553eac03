import { Holdfast, policyCodec, policySchema } from '@holdfast/runtime'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { diffRecords, fieldOfPath, parseField, toDraft, toPolicy } from '../../src/pages/policies/draft.js'
import { FIELDS } from '../../src/pages/policies/fields.js'
import { mergeDrafts } from '../../src/pages/policies/merge.js'
import { computeSchedule, type PolicySchedule } from '../../src/pages/policies/schedule.js'
import { formatTotalWait } from '../../src/pages/policies/schedule-text.js'
import { usersOf } from '../../src/pages/policies/users.js'
import { toYaml } from '../../src/pages/policies/yaml.js'

describe('the form of a policy', () => {
  it('converts every built-in policy to the form and back', async () => {
    const hf = await Holdfast.open({ config: { version: '1.1.0' }, env: {}, watch: false })
    for (const policy of await hf.policies.list()) {
      const { id: _, schema: __, ...wire } = policyCodec.encode(policy) as Record<string, unknown>
      expect(toPolicy(wire as never, toDraft(wire as never))).toEqual(wire)
    }
    await hf.close()
  })

  it('has a field for every field of a policy', () => {
    const named = Object.entries(policySchema.shape).flatMap(([name, schema]) => {
      const inner = 'unwrap' in schema ? (schema.unwrap() as { unwrap?: () => unknown }) : schema
      const object = 'unwrap' in inner ? (inner.unwrap as () => unknown)() : inner
      return object instanceof Object && 'shape' in object
        ? Object.keys(object.shape as object).map((key) => `${name}.${key}`)
        : [name]
    })
    expect(named.filter((name) => name.includes('.'))).toHaveLength(9)
    expect(FIELDS.map(({ name }) => name as string).toSorted()).toEqual(
      named.filter((name) => !['id', 'schema'].includes(name)).toSorted(),
    )
  })

  it('converts nested fields and empty lists to the form and back', () => {
    const wire = {
      max_attempts: 3,
      retryable_exceptions: [],
      bulkhead: { limit: 3, queue: 0 },
      hedge: { delay: 0.25, max: 1 },
      budget: { ratio: 0.5, reserve_per_second: 0, window: 10, shared: true },
    }
    expect(toPolicy(wire as never, toDraft(wire as never))).toMatchObject(wire)
  })

  it('fills in defaults of a nested object, and omits an empty one', () => {
    const draft = { ...toDraft({}), 'bulkhead.limit': '4', 'budget.shared': true }
    expect(toPolicy({}, draft)).toMatchObject({
      bulkhead: { limit: 4, queue: 0 },
      budget: { ratio: 0.2, reserve_per_second: 10, window: 10, shared: true },
    })
    expect(toPolicy({}, draft)).not.toHaveProperty('hedge')
    // What must be said is left to the server to ask for.
    expect(toPolicy({}, { ...toDraft({}), 'hedge.max': '2' })['hedge']).toEqual({ max: 2 })
  })

  it('sends null for an emptied field, so that its value does not come from the file', () => {
    const policy = { total_timeout: 60, bulkhead: { limit: 3, queue: 0 } } as never
    const draft = { ...toDraft(policy), total_timeout: '', 'bulkhead.limit': '', 'bulkhead.queue': ' ' }
    const meant = toPolicy(policy, draft)
    expect([meant['total_timeout'], meant['bulkhead']]).toEqual([null, null])
    expect(meant).not.toHaveProperty('attempt_timeout')
  })

  it('finds the field of a path of the server', () => {
    expect(fieldOfPath('bulkhead.limit')).toBe('bulkhead.limit')
    expect(fieldOfPath('retry_status_codes[1]')).toBe('retry_status_codes')
    expect(fieldOfPath('retry_status_codes.1')).toBe('retry_status_codes')
    expect(fieldOfPath('')).toBe('')
  })

  it('sends invalid values unchanged, so that the server reports them', () => {
    const field = (name: string) => FIELDS.find((one) => one.name === name) as (typeof FIELDS)[number]
    expect(parseField(field('max_attempts'), 'many')).toBe('many')
    expect(parseField(field('max_attempts'), 'Infinity')).toBe('Infinity')
    expect(parseField(field('base_delay'), ' 0.5 ')).toBe(0.5)
    expect(parseField(field('base_delay'), '250ms')).toBe(0.25)
    expect(parseField(field('base_delay'), '5 minutes')).toBe('5 minutes')
    expect(parseField(field('attempt_timeout'), '')).toBeNull()
    expect(parseField(field('retry_status_codes'), '502, x')).toEqual([502, 'x'])
    expect(parseField(field('retryable_exceptions'), ' timeout,, ECONNRESET ')).toEqual([
      'timeout',
      'ECONNRESET',
    ])
  })

  it('lists differences and treats a missing value like null', () => {
    expect(diffRecords({ a: 1, b: null, c: [1] }, { a: 2, c: [1], d: 'x' })).toEqual([
      { name: 'a', before: 1, after: 2 },
      { name: 'd', before: undefined, after: 'x' },
    ])
    expect(diffRecords({ p: { a: 1, b: 2 } }, { p: { a: 1, b: 3 } })).toEqual([
      { name: 'p.b', before: 2, after: 3 },
    ])
  })
})

describe('the schedule chart of a policy', () => {
  const policies = fc.record({
    maxAttempts: fc.integer({ min: 1, max: 12 }),
    backoffType: fc.constantFrom('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'),
    baseDelay: fc.integer({ min: 0, max: 5000 }),
    multiplier: fc.integer({ min: 1, max: 5 }),
    maxDelay: fc.integer({ min: 5000, max: 60_000 }),
    jitterType: fc.constantFrom('none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'),
    jitterAmount: fc.constantFrom(0, 0.1, 0.5, 1),
    jitterMin: fc.integer({ min: 0, max: 100 }),
    jitterMax: fc.integer({ min: 100, max: 2000 }),
  })

  it('shows the same waits as the runtime explains', async () => {
    await fc.assert(
      fc.asyncProperty(policies, async (policy) => {
        const hf = await Holdfast.open({
          config: { version: '1.1.0', policies: { p: policy } } as never,
          env: {},
          watch: false,
        })
        const wire = policyCodec.encode(await hf.policies.get('p')) as Record<string, unknown>
        const { policies: explained } = await hf.config.explain('p')
        await hf.close()
        const drawn = computeSchedule(wire)?.waits ?? []
        const told = explained[0]?.schedule.waits ?? []
        expect(drawn.map(({ attempt }) => attempt)).toEqual(told.map(({ attempt }) => attempt))
        for (const [index, { base, min, max }] of told.entries()) {
          expect(drawn[index]?.base).toBeCloseTo(base / 1000, 6)
          expect(drawn[index]?.least).toBeCloseTo(min / 1000, 6)
          expect(drawn[index]?.most).toBeCloseTo(max / 1000, 6)
        }
      }),
      { numRuns: 60 },
    )
  })

  const quick = {
    max_attempts: 4,
    backoff_type: 'exponential',
    base_delay: 0.1,
    multiplier: 2,
    max_delay: 30,
    jitter_type: 'full',
    jitter_amount: 0.5,
    jitter_min: 0,
    jitter_max: 0,
  }
  const totalOf = (change: object, timeout?: number): string =>
    formatTotalWait(computeSchedule({ ...quick, ...change }) as PolicySchedule, timeout)

  it('states the total wait with and without jitter', () => {
    expect(totalOf({})).toBe('Total wait 700 ms (350–700 ms with jitter).')
    expect(totalOf({ jitter_type: 'none' })).toBe('Total wait 700 ms.')
    expect(totalOf({ max_attempts: 6 })).toBe('Total wait 3.1 s (1.6–3.1 s with jitter).')
    expect(totalOf({ max_attempts: 5 })).toBe('Total wait 1.5 s (750 ms–1.5 s with jitter).')
  })

  it('adds up all waits of 500 attempts and not only those of the chart', () => {
    // 0.1 to 25.6 s are nine growing waits with a sum of 51.1 s; the other 490 are 30 s each.
    const { total, count, waits } = computeSchedule({ ...quick, max_attempts: 500 }) as PolicySchedule
    expect([total?.base, count, waits.length]).toEqual([expect.closeTo(51.1 + 490 * 30, 6), 499, 20])
    expect(totalOf({ max_attempts: 500, jitter_type: 'none' })).toBe(
      'Total wait 4 h 5 min. The chart shows the first 20 of 499 waits.',
    )
  })

  it('states that the wait of unlimited attempts is unlimited, and that a total timeout ends it', () => {
    expect(totalOf({ max_attempts: 'Infinity', jitter_type: 'none' })).toBe(
      'Total wait unlimited: attempts are not limited, and each further wait is 30 s. The chart shows the first 20 of unlimited waits.',
    )
    expect(totalOf({ max_attempts: 'Infinity' }, 60)).toContain(
      'The total timeout ends the call after 1 min.',
    )
    expect(totalOf({}, 60)).not.toContain('timeout')
  })

  it('states a minimum where the waits grow beyond those that are computed', () => {
    const slow = { backoff_type: 'linear', base_delay: 0.001, max_delay: 3600, jitter_type: 'none' }
    expect(totalOf({ ...slow, max_attempts: 10_000 })).toContain('Total wait at least ')
    expect(totalOf({ ...slow, max_attempts: 1000 })).toContain('Total wait 8 min 20 s.')
  })

  it('is hidden while the values are not valid', () => {
    const sound = {
      max_attempts: 3,
      backoff_type: 'fixed',
      base_delay: 1,
      multiplier: 2,
      max_delay: 3,
      jitter_type: 'none',
      jitter_amount: 0,
      jitter_min: 0,
      jitter_max: 0,
    }
    expect(computeSchedule(sound)?.waits).toHaveLength(2)
    expect(computeSchedule({ ...sound, max_attempts: 'Infinity' })?.waits).toHaveLength(20)
    for (const bad of [
      { max_attempts: 'x' },
      { max_attempts: 0 },
      { base_delay: 'x' },
      { base_delay: -1 },
      { multiplier: 0.5 },
      { jitter_amount: 2 },
    ])
      expect(computeSchedule({ ...sound, ...bad })).toBeUndefined()
  })
})

describe('the merge of two changes of a policy', () => {
  const base = { a: '1', b: '1', c: '1', d: '1' }

  it('keeps the changes of both sides, and the own value of a field that both changed', () => {
    const merged = mergeDrafts(base, { ...base, a: '2', c: '3', d: '5' }, { ...base, b: '2', c: '4', d: '5' })
    expect(merged).toEqual({ draft: { a: '2', b: '2', c: '3', d: '5' }, conflicts: ['c'] })
  })
})

describe('the YAML of a policy', () => {
  it('is read as the same values by the config file', async () => {
    const policy = {
      name: 'Fetch: pages',
      description: 'no',
      max_attempts: 'Infinity',
      base_delay: 0.25,
      total_timeout: null,
      retryable_exceptions: ['timeout', '5xx', 'a, b'],
      abort_exceptions: [],
      bulkhead: { limit: 4, queue: 8 },
      shadow: true,
    }
    const text = toYaml('a.b c', policy)
    const read = parse(text) as { policies: Record<string, unknown> }
    expect(read.policies['a.b c']).toEqual({ ...policy, max_attempts: Number.POSITIVE_INFINITY })
  })
})

describe('the users of a policy', () => {
  it('are mapped operations with the kinds of failure, and pools', () => {
    const config = {
      subsystem_mappings: {
        browser: { save: { timeout: 'slow', default: 'fast' }, load: { default: '?slow' } },
      },
      pools: { proxies: { policy: 'slow' }, other: {} },
    }
    expect(usersOf(config, 'slow').map(({ name, condition }) => [name, condition])).toEqual([
      ['browser.save', 'failures of the kind timeout'],
      ['browser.load', 'all other failures'],
      ['proxies', undefined],
    ])
  })
})
