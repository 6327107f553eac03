import { join } from 'node:path'
import * as ft from 'holdfast/decorators'
import { fakeClock } from 'holdfast/testing'
import pino from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { eventSchema, type RetryEvent, sessionSchema, toWire } from '../../src/index.js'
import { failing, folder, refused, start, timeout, unauthorized } from './setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

describe('sessions', () => {
  const unreadable = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no')
      },
    },
  )

  it.each([unreadable, ['a', 'b'], new Date(0), new Map([['a', 1]]), Object.create(null)])(
    'match their schema for every context of a call (%#)',
    async (context) => {
      const { hf } = await start(QUICK)
      const fail = ({ note }: { note(facts: object): void }) => (note(context), Promise.reject(refused()))
      await hf.run('quick', fail, { context }).catch(() => {})
      const { items } = await hf.sessions.list()
      expect(items.map((item) => sessionSchema.safeParse(toWire(item)).error?.issues)).toEqual([undefined])
      const events = (await hf.events.list()).items
      expect(events.map((item) => eventSchema.safeParse(toWire(item)).error?.issues)).toEqual(
        events.map(() => undefined),
      )
    },
  )
})

describe('events of a retry', () => {
  it('have no error if a value was retried', async () => {
    const { hf } = await start(QUICK)
    await hf.run('quick', async () => new Response(null, { status: 503 }), { retry: { retryIf: () => true } })
    const { items } = await hf.events.list({ order: 'oldest' })
    const retries = items.filter(({ eventType }) => eventType === 'retry_attempt')
    expect(retries.map(({ attempt }) => attempt)).toEqual([2, 3])
    for (const event of retries) expect(event).not.toHaveProperty('error')
  })
})

describe('error records', () => {
  it('are written for each failed attempt, with its consequence', async () => {
    const { hf } = await start(QUICK)
    await failing(hf, 'quick', refused, { itemId: 'mail-7', context: { email_id: 'mail-7' } })
    const { items } = await hf.errors.list({ order: 'oldest' })
    expect(
      items.map(({ severity, category, kind, retryCount }) => [severity, category, kind, retryCount]),
    ).toEqual([
      ['WARNING', 'TRANSIENT', 'network_error', 0],
      ['WARNING', 'TRANSIENT', 'network_error', 1],
      ['ERROR', 'TRANSIENT', 'network_error', 2],
    ])
    expect(items[0]?.context).toEqual({ operation: 'quick', item_id: 'mail-7', email_id: 'mail-7' })
    expect(items[0]?.stackTrace ?? undefined).toBeUndefined()
    expect(hf.errors.counts().quick).toEqual({ total: 3, bySeverity: { WARNING: 2, ERROR: 1 } })
  })

  it('of critical errors raise an alert', async () => {
    const { hf, events } = await start(QUICK)
    await failing(hf, 'quick', unauthorized)
    expect((await hf.errors.list({ severity: 'CRITICAL' })).items).toHaveLength(1)
    expect(events.find(({ eventType }) => eventType === 'alert')).toMatchObject({
      operation: 'quick',
      error: { message: '401 from the API' },
    })
  })
})

describe('secrets', () => {
  it('do not appear in any record, event, log line or dead letter', async () => {
    const lines: string[] = []
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
    const { hf, events } = await start(
      { ...QUICK, redact: { keys: ['pin'], patterns: ['ACCT-\\d+'] } },
      { logger },
    )
    const secret = 'hunter2hunter2'
    const error = () =>
      new Error(`GET https://ann:${secret}@api.example/x?token=${secret} with ACCT-9876`, {
        cause: new Error(`Authorization: Bearer ${secret}`),
      })
    await failing(hf, 'quick', error, {
      context: { pin: secret, headers: { authorization: `Bearer ${secret}` }, url: `http://u:${secret}@h/` },
      payload: { keep: 'this' },
    })
    const all = JSON.stringify([
      await hf.sessions.list(),
      await hf.errors.list(),
      (await hf.deadLetters.list()).items.map(({ errorDetails }) => errorDetails),
      events,
      lines,
    ])
    expect(all).toContain('api.example')
    expect(all).not.toContain(secret)
    expect(all).not.toContain('ACCT-9876')
  })
})

describe('an event listener', () => {
  it('gets one event at a time, and cannot fail or block a call', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { hf } = await start(QUICK)
    const order: string[] = []
    let busy = false
    hf.events.on('retry_attempt', async ({ attempt }) => {
      expect(busy).toBe(false)
      busy = true
      await Promise.resolve()
      order.push(`${attempt}`)
      busy = false
    })
    hf.events.on('*', () => {
      throw new Error('mine')
    })
    hf.events.on('*', () => new Promise(() => {}))
    await failing(hf, 'quick', refused)
    await expect.poll(() => order).toEqual(['2', '3'])
    said.mockRestore()
  })

  it('gets events in order, and none after it is removed', async () => {
    const { hf, clock } = await start(QUICK)
    const heard: RetryEvent[] = []
    const off = hf.events.on('*', (event) => void heard.push(event))
    await failing(hf, 'quick', refused)
    clock.stepWall(-60_000)
    await failing(hf, 'quick', refused)
    const ids = heard.map(({ eventId }) => eventId)
    expect(ids.toSorted()).toEqual(ids)
    const { length } = heard
    off()
    await failing(hf, 'quick', refused)
    expect(heard).toHaveLength(length)
    expect((await hf.events.list({ order: 'oldest' })).items.slice(0, length)).toEqual(heard)
  })
})

describe('the context of a call', () => {
  it('does not fail a call if it is circular, large or unreadable', async () => {
    const { hf } = await start(QUICK)
    const circular: Record<string, unknown> = { big: 'x'.repeat(1_000_000), fn: () => 1, n: 1n }
    circular.self = circular
    const unreadable = {
      get trap(): string {
        throw new Error('no')
      },
    }
    for (const context of [circular, unreadable]) {
      expect(await failing(hf, 'quick', refused, { context })).toMatchObject({ code: 'ECONNREFUSED' })
      expect(await failing(hf, 'quick', () => context, { context })).toBe(context)
    }
    const { items } = await hf.sessions.list()
    expect(items).toHaveLength(4)
    for (const session of items) expect(JSON.stringify(toWire(session)).length).toBeLessThan(200_000)
  })
})

describe('the wire format', () => {
  it('of sessions and events matches their schemas', async () => {
    const { hf, events } = await start({ ...QUICK, recordResults: true })
    let calls = 0
    await hf.run(
      'quick',
      async ({ note }) => {
        note({ try: ++calls })
        if (calls < 2) throw timeout()
        return { saved: true, password: 'x' }
      },
      { correlationId: 'c1' },
    )
    const [session] = (await hf.sessions.list()).items
    const wire = toWire(session) as Record<string, unknown>
    expect(sessionSchema.safeParse(wire).error).toBeUndefined()
    expect(wire).toMatchObject({
      policy_id: 'quick',
      correlation_id: 'c1',
      start_time: '2026-01-29T12:00:00.000Z',
      total_attempts: 2,
      retry_count: 1,
      total_duration: 0,
      final_result: { saved: true, password: '[redacted]' },
      attempts: [
        { attempt_number: 1, outcome: 'timeout', success: false, context: { try: 1 } },
        { attempt_number: 2, outcome: 'success', success: true, context: { try: 2 } },
      ],
    })
    for (const event of events) expect(eventSchema.safeParse(toWire(event)).error).toBeUndefined()
  })
})

describe('log lines', () => {
  it('report attempts, retries, recoveries, exhausted retries and breakers that open', async () => {
    const lines: { level: number; msg: string; operation: string; retryAttempt: number }[] = []
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const { hf } = await start(
      {
        policies: {
          quick: {
            maxAttempts: 2,
            backoffType: 'immediate',
            enableCircuitBreaker: true,
            circuitBreakerThreshold: 3,
          },
        },
      },
      { logger },
    )
    await hf.run('quick', async () => 1)
    let calls = 0
    await hf.run('quick', async () => {
      if (++calls < 2) throw refused()
    })
    await failing(hf, 'quick', refused)
    await failing(hf, 'quick', refused)
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [20, "Operation 'quick' succeeded (no retry needed)"],
      [30, "Retry attempt 1/1 for 'quick' after 0ms: Error: connect ECONNREFUSED"],
      [30, "Operation 'quick' succeeded after 1 retry attempts"],
      [30, "Retry attempt 1/1 for 'quick' after 0ms: Error: connect ECONNREFUSED"],
      [40, "Retry exhausted for 'quick' after 2 attempts: Error: connect ECONNREFUSED"],
      [40, "Circuit breaker 'policy:quick' opened after 3 failures"],
      [40, "Retry exhausted for 'quick' after 1 attempts: Error: connect ECONNREFUSED"],
    ])
    expect(lines[1]).toMatchObject({ operation: 'quick', retryAttempt: 1 })
  })
})

describe('dead letters', () => {
  it('store the payload of a failed call before its caller gets the error', async () => {
    const { hf, events } = await start(QUICK)
    const error = await failing(hf, 'quick', refused, {
      payload: { to: 'ann' },
      itemId: 'mail-1',
      idempotencyKey: 'k1',
    })
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    expect(events.map(({ eventType }) => eventType)).toContain('dead_letter_enqueued')
    const [entry] = (await hf.deadLetters.list()).items
    expect(entry).toMatchObject({
      itemId: 'mail-1',
      operationType: 'quick',
      status: 'pending',
      originalPayload: { to: 'ann' },
      idempotencyKey: 'k1',
      policyId: 'quick',
      errorDetails: { errorType: 'Error', errorMessage: 'connect ECONNREFUSED', retryCount: 2 },
    })
    const handled: unknown[] = []
    hf.deadLetters.handle('quick', async (payload) => void handled.push(payload))
    expect(await hf.deadLetters.replay(entry?.dlqId ?? '')).toMatchObject({
      status: 'completed',
      processed: true,
    })
    expect(handled).toEqual([{ to: 'ann' }])
  })

  it('are not created by an abort of the caller, and are created by a cancelled call', async () => {
    const { hf, clock } = await start({ policies: { slow: { maxAttempts: 3, baseDelay: 1000 } } })
    const controller = new AbortController()
    const aborted = failing(hf, 'slow', refused, { payload: 1, signal: controller.signal })
    await clock.advance(1)
    controller.abort(new Error('enough'))
    expect(await aborted).toMatchObject({ message: 'enough' })
    expect((await hf.deadLetters.list()).items).toEqual([])
    const cancelled = failing(hf, 'slow', refused, { payload: 2 })
    await clock.advance(1)
    const [session] = (await hf.sessions.list({ active: true })).items
    await hf.sessions.cancel(session?.sessionId ?? '')
    expect(await cancelled).toMatchObject({ code: 'CANCELLED' })
    expect((await hf.deadLetters.list()).items).toMatchObject([{ originalPayload: 2 }])
  })
})

describe('a breaker with persist_state', () => {
  it('is still open after a restart, and rejects calls', async () => {
    const dir = await folder()
    const store = `sqlite:${join(dir, 'h.db')}`
    const config = {
      policies: { once: { maxAttempts: 1 } },
      circuitBreakers: {
        kept: { failureThreshold: 1, timeoutDuration: 60_000, persistState: true },
        gone: { failureThreshold: 1, timeoutDuration: 60_000 },
      },
      pools: {
        proxies: {
          circuitBreaker: { failureThreshold: 1, timeoutDuration: 60_000, persistState: true },
          members: [{ url: 'http://u:secret@127.0.0.1:9001' }, { id: 'b', url: 'http://127.0.0.1:9002' }],
        },
      },
    }
    const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
    const first = await start(config, { store, clock })
    await failing(first.hf, 'once', refused, { service: 'kept' })
    await failing(first.hf, 'once', refused, { service: 'gone' })
    await failing(first.hf, 'once', refused, { pool: 'proxies' })
    expect(await first.hf.breakers.list({ state: 'open', pool: 'proxies' })).toMatchObject([
      { id: 'pool:proxies:127.0.0.1%3A9001', proxyId: '127.0.0.1:9001' },
    ])
    await first.hf.close()
    await clock.advance(10_000)
    const { hf } = await start(config, { store, clock })
    expect((await hf.breakers.list({ state: 'open' })).map(({ id }) => id)).toEqual([
      'service:kept',
      'pool:proxies:127.0.0.1%3A9001',
    ])
    const used: string[] = []
    for (let i = 0; i < 4; i++)
      await hf.run('once', async ({ member }) => void used.push(member?.id ?? ''), { pool: 'proxies' })
    expect(used).toEqual(['b', 'b', 'b', 'b'])
    const { proxies } = await hf.metrics.byMember({ hours: 1 })
    expect(proxies.b ?? proxies['proxies:b']).toMatchObject({ successCount: 4 })
    expect(JSON.stringify(hf.pools.get('proxies').members())).not.toContain('secret')
  })
})

describe('decorated methods under a runtime', () => {
  it('use the overrides of the config file, and are recorded', async () => {
    class Graph {
      calls = 0

      @ft.Retry({ maxRetries: 1, jitter: 0 })
      async save(): Promise<string> {
        if (++this.calls < 4) throw timeout()
        return 'saved'
      }
    }
    const { hf } = await start({ overrides: { 'Graph/save/Retry/maxRetries': 5 } })
    ft.configureDecorators({ runtime: hf })
    try {
      expect(await new Graph().save()).toBe('saved')
      const [session] = (await hf.sessions.list()).items
      expect(session).toMatchObject({ operation: 'Graph.save', totalAttempts: 4, success: true })
    } finally {
      ft.configureDecorators()
    }
  })
})
