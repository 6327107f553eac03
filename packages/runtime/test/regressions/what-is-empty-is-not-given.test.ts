import { describe, expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const CONFIG = { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } }
const EMPTY = { correlationId: '', idempotencyKey: '', itemId: '', name: '' }

describe('an empty text among the options of a call', () => {
  it.each(Object.keys(EMPTY))(
    'is as if no %s was given: the call is kept, and its records are whole',
    async (name) => {
      const { hf, events } = await start(CONFIG)
      await failing(hf, 'quick', refused, { payload: { a: 1 }, [name]: '' })
      const [entry] = (await hf.deadLetters.list()).items
      expect(entry).toMatchObject({
        correlationId: expect.stringMatching(/^corr_/),
        itemId: entry?.correlationId,
      })
      expect(entry?.idempotencyKey).toMatch(/^idk_/)
      const [session] = (await hf.sessions.list()).items
      expect(session).toMatchObject({ operation: 'quick', correlationId: entry?.correlationId })
      expect((await hf.errors.list()).items.map(({ context }) => context)).toEqual([
        { operation: 'quick' },
        { operation: 'quick' },
      ])
      expect(new Set(events.map((event) => event.correlationId))).toEqual(new Set([entry?.correlationId]))
      expect(events.filter((event) => event.operation !== 'quick')).toEqual([])
    },
  )

  it('changes nothing of what a guard was made with, and a guard made with it has its operation for a name', async () => {
    const { hf } = await start(CONFIG)
    const guard = hf.guard('quick', { correlationId: 'c', itemId: 'i', name: 'shown', payload: 1 })
    await guard.run(() => Promise.reject(refused()), EMPTY as never).catch(() => {})
    expect((await hf.deadLetters.list()).items).toMatchObject([{ correlationId: 'c', itemId: 'i' }])
    expect((await hf.sessions.list()).items).toMatchObject([{ operation: 'shown', correlationId: 'c' }])
    const nameless = hf.guard('quick', { ...EMPTY, payload: 2 })
    await nameless.run(() => Promise.reject(refused()), { context: {} }).catch(() => {})
    expect((await hf.deadLetters.list()).items.map(({ originalPayload }) => originalPayload)).toEqual([1, 2])
    const heard: (string | undefined)[] = []
    const other = hf.guard('quick', EMPTY)
    other.on((event) => heard.push('name' in event ? event.name : undefined))
    await other.run(() => 1)
    expect(heard).toEqual(['quick'])
  })

  it('leaves the guard of a decorated method its name', async () => {
    const { hf } = await start(CONFIG)
    const guard = hf.guardFor('Mail.send', { retry: false })
    await guard.run(() => Promise.reject(refused()), EMPTY as never).catch(() => {})
    expect((await hf.sessions.list()).items).toMatchObject([{ operation: 'Mail.send' }])
  })

  it('is no key, correlation, policy or session of an entry that is handed in', async () => {
    const { hf } = await start(CONFIG)
    const given = {
      operation: 'quick',
      itemId: 'i',
      idempotencyKey: '',
      correlationId: '',
      policyId: '',
      sessionId: '',
    }
    const one = await hf.deadLetters.enqueue({ ...given, payload: 1 })
    const two = await hf.deadLetters.enqueue({ ...given, payload: 2 })
    expect(one.idempotencyKey).toMatch(/^idk_/)
    expect(two.idempotencyKey).not.toBe(one.idempotencyKey)
    expect(one.policyId).toBe('quick')
    expect([one.correlationId, one.sessionId]).toEqual([undefined, undefined])
  })

  it('is no name of a step, and no name or key of its items', async () => {
    const { hf } = await start(CONFIG)
    const pipeline = hf.pipeline([{ operation: 'quick', name: '', run: () => Promise.reject(refused()) }])
    const result = await pipeline.run([{ id: 'a' }, {}], { itemId: () => '', idempotencyKey: () => '' })
    expect(result.items.map(({ itemId }) => itemId)).toEqual(['a', 'item-1'])
    const entries = (await hf.deadLetters.list()).items
    expect(entries).toMatchObject([
      { originalPayload: { step: 'quick' } },
      { originalPayload: { step: 'quick' } },
    ])
    expect(entries.every(({ idempotencyKey }) => /^pip_.+:quick$/.test(idempotencyKey))).toBe(true)
  })
})

describe('what a call that failed had for options', () => {
  it('is no reason to lose it, though it was changed while the call ran', async () => {
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
    ['a policy called', (odd: unknown) => [{ policy: { id: odd } }]] as const,
    ['a context that holds', (odd: unknown) => [{ context: { odd } }]] as const,
    ['the operation', (odd: unknown) => [{}, odd]] as const,
    ['the error', (odd: unknown) => [{}, 'quick', odd]] as const,
    ['an option that there is not', (odd: unknown) => [{ metadata: odd }]] as const,
  ])('%s: whatever it is, the call is refused before it is made, or kept', async (_, of) => {
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
