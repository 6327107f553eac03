import { Holdfast, policyCodec } from '@holdfast/runtime'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differences, draftOf, FIELDS, meaning, policyOf } from '../../src/views/policies/fields.js'
import { waitsOf } from '../../src/views/policies/schedule.js'

describe('the form of a policy', () => {
  it('means what it shows, for every ready policy', async () => {
    const hf = await Holdfast.open({ config: { version: '1.1.0' }, env: {}, watch: false })
    for (const policy of await hf.policies.list()) {
      const { id: _, schema: __, ...wire } = policyCodec.encode(policy) as Record<string, unknown>
      expect(policyOf(wire as never, draftOf(wire as never))).toEqual(wire)
    }
    await hf.close()
  })

  it('leaves what it cannot read to the server', () => {
    const field = (name: string) => FIELDS.find((one) => one.name === name) as (typeof FIELDS)[number]
    expect(meaning(field('max_attempts'), 'many')).toBe('many')
    expect(meaning(field('max_attempts'), 'Infinity')).toBe('Infinity')
    expect(meaning(field('base_delay'), ' 0.5 ')).toBe(0.5)
    expect(meaning(field('attempt_timeout'), '')).toBeNull()
    expect(meaning(field('retry_status_codes'), '502, x')).toEqual([502, 'x'])
    expect(meaning(field('retryable_exceptions'), ' timeout,, ECONNRESET ')).toEqual([
      'timeout',
      'ECONNRESET',
    ])
  })

  it('tells what differs, and takes nothing and null for the same', () => {
    expect(differences({ a: 1, b: null, c: [1] }, { a: 2, c: [1], d: 'x' })).toEqual([
      { name: 'a', before: 1, after: 2 },
      { name: 'd', before: undefined, after: 'x' },
    ])
  })
})

describe('the drawing of a schedule', () => {
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

  it('is what the runtime explains', async () => {
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
        const drawn = waitsOf(wire) ?? []
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

  it('is not there while the numbers make no sense', () => {
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
    expect(waitsOf(sound)).toHaveLength(2)
    expect(waitsOf({ ...sound, max_attempts: 'Infinity' })).toHaveLength(20)
    for (const bad of [
      { max_attempts: 'x' },
      { max_attempts: 0 },
      { base_delay: 'x' },
      { base_delay: -1 },
      { multiplier: 0.5 },
      { jitter_amount: 2 },
    ])
      expect(waitsOf({ ...sound, ...bad })).toBeUndefined()
  })
})
