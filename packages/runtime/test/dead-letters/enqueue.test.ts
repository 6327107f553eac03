import { guard, HoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { encodeItem } from '../../src/dead-letters/id.js'
import { freshStore, refusal, STORES, setup } from './setup.js'

describe.each(STORES)('an enqueued dead letter in %s', (kind) => {
  it('is read with its payload and error unchanged', async () => {
    const { queue } = await setup({ store: await freshStore(kind) })
    const payload = { to: 'a@b.c', tags: ['x', { deep: null }], n: 1.5, 'odd key': '\u0000 \ud83d\ude00' }
    const entry = await queue.enqueue({
      operation: 'write',
      itemId: 'mail-1',
      payload,
      error: new TypeError('no'),
    })
    expect(entry).toMatchObject({
      itemId: 'mail-1',
      operationType: 'write',
      status: 'pending',
      originalPayload: payload,
      errorDetails: { errorType: 'TypeError', errorMessage: 'no', retryCount: 0 },
      processed: false,
      policyId: 'policy of write',
      replayedAt: null,
    })
    expect(entry.errorDetails.stackTrace).toContain('TypeError: no')
    expect(entry.createdAt).toEqual(entry.lastAttempt)
    expect(await queue.get(entry.dlqId)).toEqual(entry)
    expect((await queue.list()).items).toEqual([entry])
    expect(await queue.get('dlq_unknown')).toBeUndefined()
  })

  it('accepts any item id and operation', async () => {
    const { queue } = await setup({ store: await freshStore(kind) })
    const names = [
      '../../etc/passwd',
      'nul\0',
      '..',
      '.',
      'a/b\\c',
      'ä€😀',
      'x'.repeat(300),
      '\ud800',
      '%2e%2e',
      ' ',
    ]
    for (const name of names) {
      const entry = await queue.enqueue({ operation: name, itemId: name, payload: { name: 1 } })
      expect(entry.dlqId).not.toMatch(/\.\.|[/\\\0]/)
      const found = await queue.get(entry.dlqId)
      if (name !== '\ud800') expect(found).toMatchObject({ itemId: name, operationType: name })
    }
    expect((await queue.list()).items).toHaveLength(names.length)
    expect(Object.keys((await queue.stats()).byOperation)).toHaveLength(names.length)
  })

  it('is stored once per idempotency key', async () => {
    const { queue, enqueue, events } = await setup({ store: await freshStore(kind) })
    const first = await enqueue('a', { idempotencyKey: 'k', payload: { a: 1, b: [2] } })
    const again = await enqueue('a', { idempotencyKey: 'k', payload: { b: [2], a: 1 } })
    expect(again).toEqual(first)
    expect(events.filter(({ eventType }) => eventType === 'dead_letter_enqueued')).toHaveLength(1)
    const other = await refusal(enqueue('a', { idempotencyKey: 'k', payload: { a: 2 } }))
    expect(other.code).toBe('IDEMPOTENCY_CONFLICT')
    expect(other.message).toContain(first.dlqId)
    const elsewhere = await refusal(
      enqueue('a', { idempotencyKey: 'k', payload: { a: 1, b: [2] }, operation: 'fetch' }),
    )
    expect(elsewhere.code).toBe('IDEMPOTENCY_CONFLICT')
    expect((await queue.stats()).total).toBe(1)
  })

  it('is flushed together with others that are enqueued at the same time', async () => {
    const { kit, queue, enqueue } = await setup({ store: await freshStore(kind) })
    let flushes = 0
    const add = kit.store.deadLetters.add.bind(kit.store.deadLetters)
    kit.store.deadLetters.add = (...args) => {
      flushes++
      return add(...args)
    }
    await Promise.all(Array.from({ length: 40 }, (_, i) => enqueue(`item-${i}`)))
    expect((await queue.stats()).byStatus.pending).toBe(40)
    expect(flushes).toBeLessThan(5)
  })
})

describe('an enqueued dead letter', () => {
  it('has an id with its time and item', async () => {
    const { clock, enqueue } = await setup()
    clock.stepWall(Date.UTC(2026, 10, 6, 10, 15, 22, 123) - clock.wall())
    const { dlqId } = await enqueue('19a3f3f856f0b4d4')
    expect(dlqId).toMatch(/^dlq_20261106_101522_19a3f3f856f0b4d4_[0-9a-z]+$/)
    expect(encodeItem('a/b.c..d')).toBe('a%2Fb.c%2E%2Ed')
    expect(encodeItem('€'.repeat(100))).toMatch(/^(%E2%82%AC)+(%E2(%82)?)?$/)
  })

  it('has a unique id and key even if the random numbers repeat', async () => {
    const { kit, queue, enqueue } = await setup()
    Object.assign(kit, { random: () => 0.5 })
    const entries = await Promise.all([enqueue('same'), enqueue('same'), enqueue('same')])
    expect(new Set(entries.map(({ dlqId }) => dlqId)).size).toBe(3)
    expect(new Set(entries.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
    expect((await queue.stats()).total).toBe(3)
  })

  const circular: Record<string, unknown> = { list: [] }
  ;(circular.list as unknown[]).push({ back: circular })
  let deep: unknown = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]

  it.each([
    ['null', null, 'payload: expected JSON other than null, got null'],
    ['undefined', undefined, 'payload: expected JSON other than null, got undefined'],
    ['a circle', circular, 'payload.list[0].back: expected JSON, got a circular reference'],
    ['a bigint', { a: [1, 2n] }, 'payload.a[1]: expected JSON, got a bigint'],
    [
      'a function',
      { user: { 'on click': () => {} } },
      'payload.user["on click"]: expected JSON, got a function',
    ],
    ['NaN', { n: Number.NaN }, 'payload.n: expected JSON, got NaN'],
    ['Infinity', [Number.POSITIVE_INFINITY], 'payload[0]: expected JSON, got Infinity'],
    ['a symbol', { s: Symbol('s') }, 'payload.s: expected JSON, got a symbol'],
    ['a Map', { m: new Map([[1, 2]]) }, 'payload.m: expected JSON, got a value of type Map'],
    ['an Error', { e: new Error('x') }, 'payload.e: expected JSON, got a value of type Error'],
    ['bytes', { b: new Uint8Array(2) }, 'payload.b: expected JSON, got a value of type Uint8Array'],
    ['a hole', [1, undefined], 'payload[1]: expected JSON, got undefined'],
    ['a well', deep, 'expected at most 500 levels'],
    [
      'a trap',
      {
        get x() {
          throw new Error('hunter2')
        },
      },
      'a value that throws when it is read',
    ],
    ['toJSON of nothing', { toJSON: () => undefined }, 'serializes to nothing'],
  ])('rejects %s as its payload', async (_, payload, problem) => {
    const { queue } = await setup()
    const { code, message } = await refusal(queue.enqueue({ operation: 'write', itemId: 'a', payload }))
    expect(code).toBe('INVALID_OPTIONS')
    expect(message).toContain(problem)
    expect(message).not.toContain('hunter2')
    expect((await queue.stats()).total).toBe(0)
  })

  it('accepts any JSON value, and objects with toJSON, as its payload', async () => {
    const { enqueue } = await setup()
    for (const payload of [0, '', false, [], {}, 'text', [null], { a: null }])
      expect((await enqueue('a', { payload })).originalPayload).toEqual(payload)
    const shared = { x: 1 }
    expect((await enqueue('a', { payload: [shared, shared] })).originalPayload).toEqual([shared, shared])
    expect((await enqueue('a', { payload: { at: new Date(0), no: undefined } })).originalPayload).toEqual({
      at: '1970-01-01T00:00:00.000Z',
    })
    const own = JSON.parse('{"__proto__": {"polluted": true}}')
    expect(JSON.stringify((await enqueue('a', { payload: own })).originalPayload)).toBe(JSON.stringify(own))
  })

  it('is a copy that later changes of the payload do not affect', async () => {
    const { queue, enqueue } = await setup()
    const payload = { list: [1] }
    const entry = await enqueue('a', { payload })
    payload.list.push(2)
    ;(entry.originalPayload as typeof payload).list.push(3)
    const found = (await queue.get(entry.dlqId)) as typeof entry
    ;(found.originalPayload as typeof payload).list.push(4)
    expect((await queue.get(entry.dlqId))?.originalPayload).toEqual({ list: [1] })
  })

  it('has a maximum payload size in bytes', async () => {
    const { enqueue } = await setup({ options: { maxPayload: 20 } })
    await enqueue('a', { payload: 'x'.repeat(18) })
    const { code, message } = await refusal(enqueue('a', { payload: '€'.repeat(7) }))
    expect(code).toBe('PAYLOAD_TOO_LARGE')
    expect(message).toContain('23 bytes')
    expect(message).toContain('max_payload is 20')
  })

  it('requires an item and an operation', async () => {
    const { queue } = await setup()
    const { code, message } = await refusal(
      queue.enqueue({ operation: '', itemId: 7 as never, payload: 1, idempotencyKey: 7 as never }),
    )
    expect(code).toBe('INVALID_OPTIONS')
    expect(message).toContain('operation: expected a string that is not empty, got ""')
    expect(message).toContain('itemId: expected a string that is not empty, got 7')
    expect(message).toContain('idempotencyKey: expected a string')
    expect((await refusal(queue.enqueue(undefined as never))).code).toBe('INVALID_OPTIONS')
  })

  it('requires a listed operation if operations are listed', async () => {
    const { enqueue } = await setup({ options: { operations: ['gmail_fetch', 'notion_write'] } })
    await enqueue('a', { operation: 'notion_write' })
    const { code, message } = await refusal(enqueue('a', { operation: 'slack_post' }))
    expect(code).toBe('INVALID_OPTIONS')
    expect(message).toContain('gmail_fetch, notion_write')
  })

  it('is rejected if dead letters are disabled', async () => {
    const { live, enqueue } = await setup()
    live.options = { ...live.options, enabled: false }
    expect((await refusal(enqueue('a'))).message).toContain('dead_letters.enabled')
  })

  it('stores the number of retries of its error, without secrets', async () => {
    const { enqueue, clock } = await setup()
    const flaky = guard({ clock, retry: { maxAttempts: 3, backoffType: 'immediate' } })
    const error: unknown = await flaky
      .run(() => {
        throw new Error('cannot log in with hunter2', { cause: new Error('hunter2 is wrong') })
      })
      .catch((thrown: unknown) => thrown)
    const { errorDetails } = await enqueue('a', { error, payload: 'hunter2' })
    expect(errorDetails).toMatchObject({ errorMessage: 'cannot log in with ***', retryCount: 2 })
    expect(errorDetails.stackTrace).toContain('Caused by')
    expect(JSON.stringify(errorDetails)).not.toContain('hunter2')
  })

  it.each([
    ['a text', 'down', { errorType: 'string', errorMessage: 'down' }],
    ['nothing', undefined, { errorType: 'Error', errorMessage: 'no error was given' }],
    ['an error of ours', new HoldfastError('CIRCUIT_OPEN', 'resting'), { errorType: 'HoldfastError' }],
  ])('accepts %s as its error', async (_, error, details) => {
    const { enqueue } = await setup()
    expect((await enqueue('a', { error })).errorDetails).toMatchObject(details)
  })

  it('emits an event without its payload', async () => {
    const { enqueue, events, logs, lines } = await setup()
    const { dlqId } = await enqueue('a', { payload: 'hunter2', correlationId: 'c', sessionId: 's' })
    expect(events).toEqual([
      {
        eventType: 'dead_letter_enqueued',
        component: 'dead_letters',
        operation: 'write',
        policyId: 'policy of write',
        correlationId: 'c',
        sessionId: 's',
        context: { dlq_id: dlqId, item_id: 'a' },
      },
    ])
    expect(JSON.stringify([events, logs, lines])).not.toContain('hunter2')
  })

  it('is rejected if the store is not available', async () => {
    const { kit, enqueue, queue } = await setup()
    const { add } = kit.store.deadLetters
    kit.store.deadLetters.add = () =>
      Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'the disk is full'))
    const refused = await Promise.all([refusal(enqueue('a')), refusal(enqueue('b'))])
    expect(refused.map(({ code }) => code)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'])
    kit.store.deadLetters.add = add
    await enqueue('c')
    expect((await queue.stats()).total).toBe(1)
  })
})
