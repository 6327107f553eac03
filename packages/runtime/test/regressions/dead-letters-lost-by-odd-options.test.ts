import { describe, expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } }

describe('a failed call with a payload', () => {
  it('is stored even if its options are changed while it runs', async () => {
    const { hf } = await start(CONFIG)
    const options: Record<string, unknown> = { payload: { a: 1 }, idempotencyKey: 'k', itemId: 'i' }
    const call = hf.run('quick', () => Promise.reject(refused()), options).catch(() => {})
    Object.assign(options, { idempotencyKey: 7, itemId: {}, correlationId: [] })
    await call
    expect((await hf.deadLetters.list()).items).toMatchObject([{ originalPayload: { a: 1 } }])
  })

  const trap = () => {
    throw new Error('a trap')
  }
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const texts = ['', ' ', '\0', '\ud800', 'x'.repeat(1e5), '..', '/', '__proto__']
  const numbers = [0, 1, Number.NaN, 1n, true, null, undefined, Symbol('s')]
  const objects = [
    () => 1,
    [],
    [1],
    {},
    new Date(0),
    new Date(Number.NaN),
    new Map(),
    new Error('e'),
    Object.create(null),
  ]
  const traps: unknown[] = [
    new Proxy({}, { get: trap, ownKeys: trap, getPrototypeOf: trap }),
    { toJSON: trap },
    circular,
  ]
  const ODD: readonly unknown[] = [...texts, ...numbers, ...objects, ...traps]

  const FIELDS = [
    'context',
    'correlationId',
    'itemId',
    'idempotencyKey',
    'name',
    'service',
    'pool',
    'policy',
    'retry',
    'signal',
  ]
  it.each([
    ...FIELDS.map((field) => [field, (odd: unknown) => [{ [field]: odd }]] as const),
    ['the id of a policy', (odd: unknown) => [{ policy: { id: odd } }]] as const,
    ['a field of the context', (odd: unknown) => [{ context: { odd } }]] as const,
    ['the operation', (odd: unknown) => [{}, odd]] as const,
    ['the error', (odd: unknown) => [{}, 'quick', odd]] as const,
    ['an unknown option', (odd: unknown) => [{ metadata: odd }]] as const,
  ])('is rejected before it runs, or stored, for every value of %s', async (_, of) => {
    const policies = { quick: { maxAttempts: 2, backoffType: 'immediate' }, default: { maxAttempts: 1 } }
    const { hf } = await start({ policies })
    let kept = 0
    for (const odd of ODD) {
      const [options, operation = 'quick', error = refused()] = of(odd) as [object, string?, unknown?]
      let made = false
      const fails = () => {
        made = true
        throw error
      }
      const payload = { n: kept }
      // In a list, because whatever a promise is resolved with is asked for a `then`.
      const [thrown] = await hf.run(operation, fails, { payload, ...options }).catch((e: unknown) => [e])
      if (made) kept++
      else if (!traps.includes(odd))
        expect((thrown as { code: string }).code).toMatch(/^(INVALID_OPTIONS|POLICY_NOT_FOUND)$/)
      expect((await hf.deadLetters.stats()).total).toBe(kept)
    }
  })
})
