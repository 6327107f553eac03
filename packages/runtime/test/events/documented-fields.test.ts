import { EVENT_TYPE_INFO, EVENT_TYPES, eventCodec, type RetryEvent } from '@holdfast/records'
import { fakeClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { Holdfast } from '../../src/index.js'

/** The fields that every event can have. */
const COMMON = ['schema', 'event_id', 'event_type', 'timestamp', 'correlation_id', 'component', 'context']

test('events have the fields that their types document', async () => {
  const clock = fakeClock()
  const hf = await Holdfast.open({
    clock,
    config: {
      policies: {
        quick: {
          maxAttempts: 2,
          backoffType: 'immediate',
          enableCircuitBreaker: true,
          circuitBreakerThreshold: 4,
          circuitBreakerTimeout: 1000,
        },
        shadowed: { maxAttempts: 2, shadow: true },
      },
      pools: { proxies: { members: [{ id: 'p1', url: 'http://127.0.0.1:1' }] } },
      circuitBreakers: { mail: { failureThreshold: 1 } },
    },
  })
  const seen: RetryEvent[] = []
  hf.events.on('*', (event) => void seen.push(event))
  const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNRESET' }))
  const fail = (operation: string, options = {}) => hf.run(operation, down, options).catch(() => {})

  let attempts = 0
  await hf.run('quick', () => (++attempts === 1 ? down() : Promise.resolve('up')))
  await fail('quick', { payload: { a: 1 }, itemId: 'i1' })
  await fail('quick', { service: 'mail' })
  await fail('quick')
  await fail('shadowed')
  await hf
    .run('quick', () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })))
    .catch(() => {})
  hf.deadLetters.handle('quick', () => 'done')
  const { items } = await hf.deadLetters.list()
  await hf.deadLetters.replay(items[0]?.dlqId ?? '')
  await hf.pools.addMember('proxies', { id: 'p2', url: 'http://127.0.0.1:2' })
  await hf.policies.put({ id: 'quick', maxAttempts: 3 })
  await hf.policies.put({ id: 'quick', maxAttempts: 0 }).catch(() => {})
  for (const { id } of await hf.breakers.list()) {
    await hf.breakers.trip(id)
    await hf.breakers.reset(id)
  }
  await hf.close()

  expect(new Set(seen.map(({ eventType }) => eventType)).size).toBeGreaterThan(8)
  for (const event of seen) {
    expect(EVENT_TYPES).toContain(event.eventType)
    const info: { fields?: readonly string[]; context?: object } =
      EVENT_TYPE_INFO[event.eventType as keyof typeof EVENT_TYPE_INFO]
    const known = { fields: [...COMMON, ...(info.fields ?? [])], context: Object.keys(info.context ?? {}) }
    const { context, ...fields } = eventCodec.encode(event)
    const undocumented = {
      fields: Object.keys(fields).filter((name) => !known.fields.includes(name)),
      context: Object.keys(context ?? {}).filter((name) => !known.context.includes(name)),
    }
    expect([event.eventType, undocumented]).toEqual([event.eventType, { fields: [], context: [] }])
  }
})
