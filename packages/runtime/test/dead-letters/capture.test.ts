import { HoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { makeRedactor } from '../../../records/src/redact/redact.js'
import { setup } from './setup.js'

const failed = { operation: 'write', payload: { a: 1 }, error: new Error('down'), policyId: 'p' }

describe('a failed call', () => {
  it('is stored as a dead letter with its context', async () => {
    const { queue } = await setup()
    const payload = { a: 1 }
    const entry = await queue.capture({ ...failed, payload, itemId: 'a', sessionId: 's', correlationId: 'c' })
    expect(entry).toMatchObject({ itemId: 'a', policyId: 'p', sessionId: 's', correlationId: 'c' })
    expect(queue.capturedIdOf(payload)).toBe(entry?.dlqId)
    expect(queue.capturedIdOf({ a: 1 })).toBeUndefined()
  })

  it.each([
    ['a text', 'down with hunter2', 'string', 'down with ***'],
    ['an object', { code: 7, why: 'hunter2' }, 'object', '{"code":7,"why":"***"}'],
    ['nothing', undefined, 'Error', 'no error was given'],
    ['an error without a stack', Object.assign(new Error('down'), { stack: undefined }), 'Error', 'down'],
  ])(
    'that threw %s is stored with a message, a stack and its number of retries',
    async (_, error, type, said) => {
      const { queue } = await setup()
      const entry = await queue.capture({ ...failed, error, retryCount: 2 })
      expect(entry?.errorDetails).toMatchObject({ errorType: type, errorMessage: said, retryCount: 2 })
      expect(entry?.errorDetails.stackTrace).toMatch(/where it was stored\n\s+at /)
      expect(JSON.stringify(entry?.errorDetails)).not.toContain('hunter2')
    },
  )

  it('stores no part of a secret at the end of a truncated message or stack, or in the name of the error', async () => {
    const { kit, queue } = await setup()
    Object.assign(kit, { redact: makeRedactor({ patterns: ['ACCT-\\d{12}'] }) })
    for (const place of [1990, 1998, 7990, 7998]) {
      const secret = `${'x '.repeat(5000).slice(0, place)}ACCT-123456789012`
      const error = Object.assign(new Error(secret), { stack: secret, name: 'of ACCT-123456789012' })
      const entry = await queue.capture({ ...failed, error })
      expect(JSON.stringify(entry?.errorDetails)).not.toContain('ACCT-')
      expect(entry?.errorDetails.errorType).toBe('of [redacted]')
      expect(entry?.errorDetails.errorMessage.length).toBeLessThanOrEqual(2001)
    }
  })

  it('uses its correlation id, or its operation, as the item id if none is given', async () => {
    const { queue } = await setup()
    expect((await queue.capture({ ...failed, correlationId: 'c' }))?.itemId).toBe('c')
    expect((await queue.capture({ ...failed, itemId: '' }))?.itemId).toBe('write')
  })

  it('is not stored if dead letters are disabled, or its error kind is skipped', async () => {
    const { queue, live, events, lines } = await setup({ options: { skipKinds: ['rate_limited', 'flaky'] } })
    const limited = Object.assign(new Error('slow down'), { status: 429 })
    expect(await queue.capture({ ...failed, error: limited })).toBeUndefined()
    expect(await queue.capture({ ...failed, kind: 'flaky' })).toBeUndefined()
    expect(await queue.capture(failed)).toBeDefined()
    live.options = { ...live.options, enabled: false }
    expect(await queue.capture(failed)).toBeUndefined()
    expect(events.map(({ eventType }) => eventType)).toEqual(['dead_letter_enqueued'])
    expect(lines).toEqual([])
  })

  it.each([
    ['a payload that is no JSON', { payload: { f: () => {} } }, 'INVALID_OPTIONS', {}],
    ['no payload', { payload: null }, 'INVALID_OPTIONS', {}],
    ['a payload too large', { payload: 'hunter2'.repeat(99) }, 'PAYLOAD_TOO_LARGE', { maxPayload: 100 }],
    ['an operation that is not listed', {}, 'INVALID_OPTIONS', { operations: ['fetch'] }],
    ['an invalid encryption key', {}, 'INVALID_OPTIONS', { encryptionKey: 'hunter2' }],
  ])('with %s causes an event and a warning, and capture does not throw', async (_, call, code, options) => {
    const { queue, events, lines } = await setup({ options })
    expect(await queue.capture({ ...failed, itemId: 'a\nb', correlationId: 'c', ...call })).toBeUndefined()
    expect(events).toMatchObject([
      {
        eventType: 'dead_letter_failed',
        operation: 'write',
        correlationId: 'c',
        error: { type: 'HoldfastError' },
        context: { code, item_id: 'a\nb' },
      },
    ])
    expect(lines).toHaveLength(1)
    expect(
      lines[0]?.startsWith(`a failed write about "a\\nb" could not be stored as a dead letter, ${code}: `),
    ).toBe(true)
    expect(JSON.stringify([events, lines])).not.toContain('hunter2')
  })

  it('causes a warning if the store is not available', async () => {
    const { kit, queue, events, lines } = await setup()
    kit.store.deadLetters.add = () =>
      Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'the disk is full'))
    await queue.capture(failed)
    expect(lines).toEqual([
      'a failed write could not be stored as a dead letter, STORE_UNAVAILABLE: the disk is full',
    ])
    expect(events).toMatchObject([{ context: { code: 'STORE_UNAVAILABLE' } }])
    Object.assign(kit, {
      emit() {
        throw new Error('no events either')
      },
    })
    expect(await queue.capture(failed)).toBeUndefined()
  })
})
