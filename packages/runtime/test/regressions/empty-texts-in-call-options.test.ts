import { describe, expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const CONFIG = { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } }
const EMPTY = { correlationId: '', idempotencyKey: '', itemId: '', name: '' }

describe('an empty text in the options of a call', () => {
  it.each(Object.keys(EMPTY))(
    'counts as no %s: the dead letter is stored, and the records are complete',
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

  it('does not replace an option of a guard, and a guard with an empty name has the name of its operation', async () => {
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

  it('does not replace the name of the guard of a decorated method', async () => {
    const { hf } = await start(CONFIG)
    const guard = hf.guardFor('Mail.send', { retry: false })
    await guard.run(() => Promise.reject(refused()), EMPTY as never).catch(() => {})
    expect((await hf.sessions.list()).items).toMatchObject([{ operation: 'Mail.send' }])
  })

  it('counts as no key, correlation, policy or session of an enqueued dead letter', async () => {
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

  it('counts as no name of a step, and no id or key of an item', async () => {
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
