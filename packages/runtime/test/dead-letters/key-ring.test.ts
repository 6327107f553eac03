import { randomBytes } from 'node:crypto'
import { scripted } from 'holdfast/testing'
import { describe, expect, it, vi } from 'vitest'
import type { DeadLetter } from '../../../records/src/dead-letter.js'
import { KeyRing } from '../../../store/src/key-ring.js'
import { freshStore, refusal, STORES, setup } from './setup.js'

const key = (kid: string) => `${kid}:${randomBytes(32).toString('base64')}`
const [OLD, NEW] = [key('2025'), key('2026')]

describe.each(STORES)('encrypted payloads in %s', (kind) => {
  it('are not readable in the store, and are decrypted everywhere else', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue } = await setup({ store, options: { encryptionKey: OLD } })
    const payload = { card: '4111 1111 1111 1111' }
    const entry = await enqueue('a', { payload, idempotencyKey: 'k' })
    const stored = JSON.stringify(await store.deadLetters.list({}, new Date(0)))
    expect(stored).not.toContain('4111')
    expect(stored).toContain('2025')
    expect(entry.originalPayload).toEqual(payload)
    expect(await queue.get(entry.dlqId)).toEqual(entry)
    expect((await queue.list()).items).toEqual([entry])
    expect(await enqueue('a', { payload, idempotencyKey: 'k' })).toEqual(entry)
    expect((await refusal(enqueue('a', { payload: { card: 'x' }, idempotencyKey: 'k' }))).code).toBe(
      'IDEMPOTENCY_CONFLICT',
    )
    const handler = scripted(['done'])
    queue.handle('write', handler)
    expect((await queue.replay(entry.dlqId)).originalPayload).toEqual(payload)
    expect(handler.args[0]?.[0]).toEqual(payload)
  })

  it('are not decrypted after two entries have swapped them in the store', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue } = await setup({ store, options: { encryptionKey: OLD } })
    const [first, second] = [await enqueue('first'), await enqueue('second')]
    const [one, two] = await Promise.all(
      [first, second].map(
        async ({ dlqId }) => (await store.deadLetters.get(dlqId, new Date(0)))?.originalPayload,
      ),
    )
    const later = new Date(Date.UTC(2100, 0))
    await store.deadLetters.edit(first.dlqId, two, later)
    await store.deadLetters.edit(second.dlqId, one, later)
    for (const { dlqId } of [first, second]) {
      const { code, message } = await refusal(queue.get(dlqId))
      expect(code).toBe('CONFIG_INVALID')
      expect(message).toContain(
        `the payload of ${dlqId} cannot be decrypted with the key 2025: it was changed`,
      )
    }
  })

  it('are encrypted with the newest key by a rotation', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue, live } = await setup({ store })
    const plain = await enqueue('plain')
    live.options = { ...live.options, encryptionKey: OLD }
    const old = await enqueue('old')
    live.options = { ...live.options, encryptionKey: [NEW, OLD] }
    expect(await queue.get(old.dlqId)).toEqual(old)
    expect(await queue.rotate()).toEqual({ rewritten: 2, unreadable: [] })
    expect(await queue.rotate()).toEqual({ rewritten: 0, unreadable: [] })
    live.options = { ...live.options, encryptionKey: NEW }
    expect((await queue.list()).items).toEqual([plain, old])
    live.options = { ...live.options, encryptionKey: undefined }
    expect(await queue.rotate()).toEqual({ rewritten: 0, unreadable: [plain.dlqId, old.dlqId] })
  })

  it('that were edited after a lease had ended are decrypted in the result of the replay', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue, clock } = await setup({ store, options: { encryptionKey: OLD } })
    const { dlqId } = await enqueue('late', { payload: { amount: 1 } })
    const sealed = new KeyRing(OLD).encrypt({ amount: 2 }, dlqId)
    queue.handle('write', async () => {
      await store.deadLetters.edit(dlqId, sealed, new Date(clock.wall() + 86_400_000))
    })
    expect(await queue.replay(dlqId)).toMatchObject({
      status: 'completed',
      originalPayload: { amount: 1 },
      editedPayload: { amount: 2 },
    })
  })

  it('that were edited while a rotation reads the entries are not replaced by the earlier ones', async () => {
    const store = await freshStore(kind)
    const { queue, enqueue, live } = await setup({ store, options: { encryptionKey: OLD } })
    const [first, second] = [await enqueue('first'), await enqueue('second')]
    for (const { dlqId } of [first, second]) await queue.edit(dlqId, { amount: 1 })
    live.options = { ...live.options, encryptionKey: [NEW, OLD] }
    const { deadLetters } = store
    const list = deadLetters.list.bind(deadLetters)
    vi.spyOn(deadLetters, 'list').mockImplementationOnce(async (filter, now) => {
      const page = await list(filter, now)
      await queue.edit(first.dlqId, { amount: 2 })
      await queue.edit(second.dlqId, second.originalPayload)
      return page
    })
    expect((await queue.rotate()).unreadable).toEqual([])
    live.options = { ...live.options, encryptionKey: NEW }
    expect((await queue.get(first.dlqId))?.editedPayload).toEqual({ amount: 2 })
    expect((await queue.get(second.dlqId))?.editedPayload ?? null).toBeNull()
  })
})

describe('encrypted payloads', () => {
  it('with a missing key do not block other entries', async () => {
    const { queue, enqueue, live, lines } = await setup({ options: { encryptionKey: OLD } })
    const { dlqId } = await enqueue('sealed')
    live.options = { ...live.options, encryptionKey: NEW }
    await enqueue('open')
    const { code, message } = await refusal(queue.get(dlqId))
    expect(code).toBe('CONFIG_INVALID')
    expect(message).toContain('the key 2025')
    const { items } = await queue.list()
    expect(items.map(({ itemId }) => itemId)).toEqual(['sealed', 'open'])
    expect(items[0]?.originalPayload).toEqual({ unreadable: expect.stringContaining('the key 2025') })
    expect(items[1]?.originalPayload).toEqual({ itemId: 'open' })
    queue.handle('write', () => {})
    expect((await refusal(queue.replay(dlqId))).code).toBe('CONFIG_INVALID')
    expect(await queue.replayBatch()).toEqual({ succeeded: 1, failed: 0, skipped: 1 })
    expect((await queue.stats()).byStatus).toMatchObject({ pending: 1, completed: 1 })
    expect((await queue.complete(dlqId)).status).toBe('completed')
    expect(lines).toEqual([])
  })

  it('can be decrypted only for their own entry, and only unchanged', () => {
    const keys = new KeyRing(OLD)
    const sealed = keys.encrypt({ a: 1 }, 'one') as { data: string }
    expect(keys.decrypt(sealed, 'one')).toEqual({ a: 1 })
    expect(() => keys.decrypt(sealed, 'two')).toThrow('cannot be decrypted with the key 2025')
    expect(() => keys.decrypt({ ...sealed, data: 'AAAA' }, 'one')).toThrow('it was changed')
    expect(() => keys.decrypt({ ...sealed, iv: 7 }, 'one')).toThrow('cannot be decrypted')
  })

  it('are distinguished from payloads that look like encrypted ones', async () => {
    const { queue, enqueue, live } = await setup()
    const lookalike = new KeyRing(OLD).encrypt(1, 'x')
    const nested = { $sealed: 'none', data: lookalike }
    for (const payload of [lookalike, nested]) {
      const { dlqId } = await enqueue('a', { payload })
      expect((await queue.get(dlqId))?.originalPayload).toEqual(payload)
      live.options = { ...live.options, encryptionKey: NEW }
      await queue.rotate()
      expect((await queue.get(dlqId))?.originalPayload).toEqual(payload)
      live.options = { ...live.options, encryptionKey: undefined }
      await queue.purge({})
    }
  })
})

describe('a store that compares payloads later', () => {
  it('gets the comparison from the runtime, which has the keys', async () => {
    const store = await freshStore()
    let same: (a: DeadLetter, b: DeadLetter) => boolean = () => expect.unreachable()
    store.deadLetters.compareWith = (given) => {
      same = given
    }
    const { enqueue, live } = await setup({ store, options: { encryptionKey: OLD } })
    await enqueue('a', { payload: { x: 1, y: 2 } })
    await enqueue('b', { payload: { y: 2, x: 1 } })
    await enqueue('c', { payload: { x: 2 } })
    const [a, b, c] = (await store.deadLetters.list({}, new Date(0))).items as [
      DeadLetter,
      DeadLetter,
      DeadLetter,
    ]
    expect(same(a, b)).toBe(true)
    expect(same(a, c)).toBe(false)
    live.options = { ...live.options, encryptionKey: NEW }
    expect(() => same(a, b)).toThrow('2025')
  })
})

describe('an encryption key', () => {
  const bytes = Buffer.alloc(32, 7)
  it.each([
    ['base64', bytes.toString('base64')],
    ['base64url', bytes.toString('base64url')],
    ['hexadecimal digits', bytes.toString('hex')],
    ['capitals of those', bytes.toString('hex').toUpperCase()],
    ['with spaces around it', ` ${bytes.toString('base64')}\n`],
  ])('can be written as %s', (_, written) => {
    const keys = new KeyRing(written)
    expect(keys.decrypt(new KeyRing(bytes.toString('hex')).encrypt('x', 'id'), 'id')).toBe('x')
  })

  it('gets a derived id that does not reveal it, if none is given', () => {
    const { newestId } = new KeyRing(bytes.toString('base64'))
    expect(newestId).toMatch(/^[0-9a-f]{8}$/)
    expect(bytes.toString('hex')).not.toContain(newestId)
    expect(new KeyRing(`${NEW}, ${OLD}`).newestId).toBe('2026')
  })

  it.each([
    ['too short', 'c2hvcnQ=', 'key 1'],
    ['a password', `${NEW},correct horse battery staple`, 'key 2'],
    [
      'one id twice',
      [`a:${bytes.toString('hex')}`, `a:${Buffer.alloc(32).toString('hex')}`],
      'expected a unique id, got a, the id of another key',
    ],
  ])('that is %s is rejected without being repeated', (_, given, said) => {
    try {
      new KeyRing(given)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining(said) })
      expect(String(error)).not.toMatch(/horse|c2hvcnQ|0707/)
    }
  })

  it('is optional', () => {
    for (const none of [undefined, '', []]) expect(new KeyRing(none).newestId).toBeUndefined()
  })
})
