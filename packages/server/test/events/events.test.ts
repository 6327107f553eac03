import { eventSchema } from '@holdfast/runtime'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToken, revokeToken } from '../../src/auth/tokens.js'
import { type Fixture, failCall, open } from '../fixture.js'
import { Sse } from './stream.js'

const read = async ({ app }: Fixture, query = '', headers: Record<string, string> = {}) => {
  const answer = await app.request(`http://localhost/api/v1/events${query}`, { headers })
  expect(answer.status).toBe(200)
  return new Sse(answer.body as ReadableStream<Uint8Array>)
}

/** Three events: two retries and the giving up. */
const EACH = 3

describe('the event stream', () => {
  test('sends each event with its id, type and data', async () => {
    const fixture = await open()
    const stream = await read(fixture)
    await failCall(fixture.hf, 'quick')
    await fixture.clock.advance(1)
    const frames = await stream.take(EACH)
    expect(frames.map(({ event }) => event)).toEqual(['retry_attempt', 'retry_attempt', 'retry_failure'])
    for (const { id, event, data } of frames) {
      const wire = JSON.parse(data ?? '') as { event_id: string; event_type: string }
      expect(eventSchema.safeParse(wire).success).toBe(true)
      expect([wire.event_id, wire.event_type]).toEqual([id, event])
    }
    await stream.cancel()
  })

  test('is text/event-stream without buffering and caching', async () => {
    const { app } = await open()
    const answer = await app.request('http://localhost/api/v1/events')
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    await answer.body?.cancel()
  })

  test('is filtered by one or more types and operations', async () => {
    const fixture = await open()
    const failures = await read(fixture, '?type=retry_failure&type=alert')
    const mapped = await read(fixture, '?operation=browser.save')
    const both = await read(fixture, '?operation=browser.save&operation=quick&type=retry_failure')
    const saving = failCall(fixture.hf, 'browser.save')
    await failCall(fixture.hf, 'quick')
    await fixture.clock.advance(100)
    await saving
    await fixture.clock.advance(1)
    expect((await failures.take(2)).map(({ event }) => event)).toEqual(['retry_failure', 'retry_failure'])
    const operations = (await mapped.take(2)).map(({ data }) => JSON.parse(data ?? '').operation)
    expect(operations).toEqual(['browser.save', 'browser.save'])
    expect(await both.take(2)).toHaveLength(2)
    for (const stream of [failures, mapped, both]) await stream.cancel()
  })

  test('rejects unknown types and too many readers', async () => {
    const fixture = await open({ maxReaders: 1 })
    expect(await fixture.ask('GET', '/api/v1/events?type=nonsense')).toMatchObject({ status: 400 })
    const stream = await read(fixture)
    expect(await fixture.ask('GET', '/api/v1/events')).toMatchObject({
      status: 429,
      body: { error: 'RATE_LIMITED' },
    })
    await stream.cancel()
    const next = await read(fixture)
    await next.cancel()
  })

  test('sends heartbeats', async () => {
    const fixture = await open({ heartbeat: '5s' })
    const stream = await read(fixture)
    expect(await stream.piece()).toContain('connected')
    await fixture.clock.advance(5000)
    expect(await stream.piece()).toBe(': beat\n\n')
    await fixture.clock.advance(5000)
    expect(await stream.piece()).toBe(': beat\n\n')
    await stream.cancel()
  })

  test('ends when the app is closed', async () => {
    const fixture = await open()
    const stream = await read(fixture)
    await fixture.app.close()
    expect(await stream.take(1)).toEqual([])
    expect(stream.done).toBe(true)
  })

  test('ends when its token is revoked', async () => {
    const fixture = await open({ heartbeat: '5s' })
    const { hf } = fixture
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const other = await createToken(hf, { name: 'bob', role: 'viewer' })
    const stream = await read(fixture, '', { authorization: `Bearer ${token}` })
    const stays = await read(fixture, '', { authorization: `bearer ${other.token}` })
    await fixture.clock.advance(5000)
    expect(await stream.piece()).toContain('connected')
    await revokeToken(hf, 'ann')
    // Long before the next sign of life.
    await fixture.clock.advance(1000)
    expect(await stream.take(1)).toEqual([])
    await failCall(hf, 'quick')
    await fixture.clock.advance(1)
    expect(await stays.take(EACH)).toHaveLength(EACH)
    await stays.cancel()
  })

  test('ends a reader without a token when a token is created', async () => {
    const fixture = await open()
    const stream = await read(fixture)
    await fixture.clock.advance(1000)
    expect(await stream.piece()).toContain('connected')
    await createToken(fixture.hf, { name: 'ann', role: 'viewer' })
    await fixture.clock.advance(1000)
    expect(await stream.take(1)).toEqual([])
  })
})

describe('a reader that reconnects', () => {
  test.each(['header', 'query'])('receives all events after Last-Event-ID in the %s', async (place) => {
    const fixture = await open()
    const first = await read(fixture)
    await failCall(fixture.hf, 'quick')
    await fixture.clock.advance(1)
    const heard = await first.take(1)
    await first.cancel()
    await failCall(fixture.hf, 'quick')
    const id = heard[0]?.['id'] ?? ''
    const second =
      place === 'header'
        ? await read(fixture, '', { 'last-event-id': id })
        : await read(fixture, `?last_event_id=${id}`)
    await failCall(fixture.hf, 'quick')
    await fixture.clock.advance(1)
    const frames = await second.take(3 * EACH - 1)
    const kept = (await fixture.hf.events.list({ order: 'oldest' })).items.map(({ eventId }) => eventId)
    expect([...heard, ...frames].map((frame) => frame['id'])).toEqual(kept)
    await second.cancel()
  })

  test('receives missed events from the store after a restart, and then live events', async () => {
    const fixture = await open()
    const before = await read(fixture)
    await failCall(fixture.hf, 'quick')
    await fixture.clock.advance(1)
    const [last] = await before.take(1)
    await before.cancel()
    for (let i = 0; i < 300; i++) await failCall(fixture.hf, 'quick')
    // Another app over the same runtime has none of it at hand, as a process that has just begun.
    const { createApp } = await import('../../src/app/app.js')
    const app = createApp(fixture.hf, { clock: fixture.clock, dashboard: false })
    const after = await read({ ...fixture, app }, '', { 'last-event-id': last?.['id'] ?? '' })
    const reading = after.take(301 * EACH - 1 + EACH)
    await failCall(fixture.hf, 'quick')
    for (let i = 0; i < 20; i++) await fixture.clock.advance(10)
    const ids = [last, ...(await reading)].map((frame) => frame?.['id'])
    const kept: string[] = []
    let cursor: string | undefined
    do {
      const page = await fixture.hf.events.list({ order: 'oldest', limit: 500, cursor })
      kept.push(...page.items.map(({ eventId }) => eventId))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(ids).toEqual(kept)
    await after.cancel()
    await app.close()
  })

  test('receives each event once and in order for any sequence of interruptions', async () => {
    const fixture = await open()
    const steps = fc.array(
      fc.oneof(fc.constant('call' as const), fc.constant('break' as const), fc.constant('read' as const)),
      {
        maxLength: 20,
      },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const heard: string[] = []
        let stream = await read(fixture)
        let open_ = 0
        await failCall(fixture.hf, 'quick')
        open_ += EACH
        const catchUp = async () => {
          await fixture.clock.advance(1)
          heard.push(...(await stream.take(open_)).map((frame) => frame['id'] ?? ''))
          open_ = 0
        }
        await catchUp()
        for (const step of plan) {
          if (step === 'read') await catchUp()
          else if (step === 'call') {
            await failCall(fixture.hf, 'quick')
            open_ += EACH
          } else {
            await stream.cancel()
            stream = await read(fixture, '', { 'last-event-id': heard.at(-1) ?? '' })
          }
        }
        await catchUp()
        await stream.cancel()
        const { items } = await fixture.hf.events.list({ order: 'newest', limit: Math.max(1, heard.length) })
        expect(heard).toEqual(items.map(({ eventId }) => eventId).toReversed())
      }),
      { numRuns: 30 },
    )
  })
})

describe('a reader that is too slow', () => {
  test('is disconnected at its limit and misses nothing after a reconnect, without delaying others', async () => {
    const fixture = await open({ readerBuffer: 4096 })
    const slow = await read(fixture)
    const quick = await read(fixture)
    const heard: string[] = []
    for (let i = 0; i < 20; i++) {
      await failCall(fixture.hf, 'quick')
      await fixture.clock.advance(1)
      heard.push(...(await quick.take(EACH)).map((frame) => frame['id'] ?? ''))
    }
    const got = (await slow.rest_()).map((frame) => frame['id'] ?? '')
    expect(slow.done).toBe(true)
    expect(got.length).toBeLessThan(heard.length)
    expect(got).toEqual(heard.slice(0, got.length))
    const again = await read(fixture, '', { 'last-event-id': got.at(-1) ?? '' })
    const missed = (await again.take(heard.length - got.length)).map((frame) => frame['id'])
    expect([...got, ...missed]).toEqual(heard)
    await quick.cancel()
    await again.cancel()
  })
})
