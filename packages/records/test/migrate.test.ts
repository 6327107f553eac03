import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toWire } from '../../runtime/src/wire.js'
import { breakerSchema } from '../src/breaker.js'
import { deadLetterSchema } from '../src/dead-letter.js'
import { errorRecordSchema } from '../src/errors.js'
import { windowSchema } from '../src/metrics.js'
import { migrateRecords } from '../src/migrate/migrate.js'
import { eventSchema, sessionCodec, sessionSchema } from '../src/session.js'

const one = async (record: unknown) => {
  const { records, report, text } = await migrateRecords(JSON.stringify(record))
  expect(report.problems).toEqual([])
  expect(JSON.parse(text)).toEqual(records[0])
  return records[0] as Record<string, unknown>
}

const problem = async (record: unknown) => {
  const { records, report } = await migrateRecords(JSON.stringify(record))
  expect(records).toEqual([])
  expect(report.integrity).toEqual({ in: 1, out: 0, rejected: 1 })
  return report.problems[0]?.message
}

/** Records of version 1.0. */
const session = {
  session_id: 'state_timeout_1769688000000',
  policy_id: 'state_timeout',
  operation: 'save_state',
  start_time: '2026-01-29T12:00:00.000Z',
  end_time: '2026-01-29T12:00:35.500Z',
  attempts: [
    {
      attempt_number: 1,
      timestamp: '2026-01-29T12:00:00.000Z',
      delay: 0,
      error: { type: 'TimeoutError', message: 'timed out after 30 seconds' },
      success: false,
      duration: 30.5,
    },
    { attempt_number: 2, timestamp: '2026-01-29T12:00:32.000Z', delay: 1.5, success: true, duration: 3.5 },
  ],
  final_result: { stateId: 'abc', saved_at: 1 },
  success: true,
  context: { stateId: 'abc', user_id: 'u1' },
}

const migrated = {
  schema: '1.2',
  session_id: 'state_timeout_1769688000000',
  policy_id: 'state_timeout',
  policy_ids: ['state_timeout'],
  operation: 'save_state',
  correlation_id: 'corr_state_timeout_1769688000000',
  start_time: '2026-01-29T12:00:00.000Z',
  end_time: '2026-01-29T12:00:35.500Z',
  attempts: [
    { ...session.attempts[0], outcome: 'timeout' },
    { ...session.attempts[1], outcome: 'success' },
  ],
  final_result: { stateId: 'abc', saved_at: 1 },
  success: true,
  stopped: 'succeeded',
  context: { stateId: 'abc', user_id: 'u1' },
  total_attempts: 2,
  total_duration: 35.5,
  retry_count: 1,
}

describe('sessions', () => {
  it('of version 1.0 get the missing fields', async () => {
    const record = await one(session)
    expect(record).toEqual(migrated)
    expect(sessionSchema.safeParse(record).success).toBe(true)
  })

  it('in camelCase, with earlier names and time formats, have the same result', async () => {
    const camel = {
      sessionId: session.session_id,
      policyId: 'state_timeout',
      operation: 'save_state',
      startTime: 1769688000,
      endTime: '2026-01-29 12:00:35.500000',
      attempts: [
        {
          attemptNumber: 0,
          timestamp: '2026-01-29T12:00:00',
          delayBefore: 0,
          error: 'TimeoutError: timed out after 30 seconds',
          outcome: 'TIMEOUT',
          latency: 30.5,
          requestId: session.session_id,
        },
        { attemptNumber: 1, timestamp: 1769688032000, delayBefore: 1.5, outcome: 'success', latency: 3.5 },
      ],
      finalResult: session.final_result,
      context: session.context,
    }
    expect(await one(camel)).toEqual(migrated)
  })

  it('that failed get no reason', async () => {
    const failed = await one({
      ...session,
      success: false,
      attempts: session.attempts.slice(0, 1),
      final_error: 'no',
    })
    expect(failed).not.toHaveProperty('stopped')
    expect(failed).toMatchObject({ final_error: { type: 'Error', message: 'no' }, retry_count: 0 })
  })

  it('of the current version in the TypeScript spelling have milliseconds', async () => {
    const twin = sessionCodec.decode(migrated)
    expect(twin.totalDuration).toBe(35_500)
    expect(await one(twin)).toEqual(migrated)
  })

  it('get durations that can be computed from their times, and no others', async () => {
    const [first, second] = session.attempts.map((attempt) => ({ ...attempt, duration: undefined }))
    expect(await one({ ...session, attempts: [first, second] })).toEqual(migrated)
    const { end_time: _, ...endless } = session
    expect(await problem({ ...endless, attempts: [first, second] })).toContain('attempts.1.duration: ')
    expect(await problem({ ...session, attempts: [{ ...first, timestamp: undefined }, second] })).toContain(
      'attempts.0.duration: ',
    )
  })

  it('have durations without rounding errors', async () => {
    const attempts = [0.1, 0.2].map((duration, i) => ({
      ...session.attempts[0],
      attempt_number: i + 1,
      duration,
    }))
    const { end_time: _, ...endless } = session
    expect(await one({ ...endless, attempts, success: false })).toMatchObject({ total_duration: 0.3 })
  })

  it('keep unknown fields', async () => {
    expect(await one({ ...session, tenant: 't1' })).toEqual({ ...migrated, tenant: 't1' })
  })

  it.each([
    [{ ...session, attempts: [] }, 'sessions: attempts: expected at least one, got none'],
    [{ ...session, attempts: ['x'] }, 'sessions: attempts.0: '],
    [{ ...session, start_time: 'yesterday' }, 'sessions: start_time: '],
    [{ ...session, success: 'yes' }, 'sessions: success: '],
    [{ ...session, attempts: [{ ...session.attempts[0], duration: -1 }] }, 'sessions: attempts.0.duration: '],
  ])('that are not valid are reported (%#)', async (record, said) => {
    expect(await problem(record)).toContain(said)
  })
})

describe('events', () => {
  const event = {
    event_id: 'evt_1769688000000_abc123',
    event_type: 'retry_attempt',
    timestamp: '2026-01-29T12:00:32.000Z',
    correlation_id: 'corr_abc123',
    session_id: 's1',
    policy_id: 'p',
    operation: 'save_state',
    attempt: 2,
    max_attempts: 3,
    delay: 1.5,
    component: 'retry_manager',
    context: { last_error: 'TimeoutError' },
  }

  it('of version 1.0 are not changed', async () => {
    const record = await one(event)
    expect(record).toEqual({ ...event, schema: '1.2' })
    expect(eventSchema.safeParse(record).success).toBe(true)
  })

  it('in camelCase with earlier words get the current ones', async () => {
    expect(
      await one({
        eventId: 'e1',
        eventType: 'CIRCUIT_OPENED',
        timestamp: '2026-01-29T12:00:32+01:00',
        component: 'BrowserRetry',
        delayBefore: 2,
        context: { a: 1 },
      }),
    ).toEqual({
      schema: '1.2',
      event_id: 'e1',
      event_type: 'circuit_breaker_opened',
      timestamp: '2026-01-29T11:00:32.000Z',
      correlation_id: 'corr_e1',
      delay: 2,
      component: 'retry_manager',
      context: { a: 1, component: 'BrowserRetry' },
    })
  })

  it.each([
    [{ ...event, attempt: 4 }, 'events: max_attempts: expected at least attempt (4), got 3'],
    [{ ...event, event_type: 'party' }, 'events: event_type: '],
    [{ ...event, attempt: 0 }, 'events: attempt: '],
  ])('that are not valid are reported (%#)', async (record, said) => {
    expect(await problem(record)).toContain(said)
  })
})

describe('other records', () => {
  it('windows of metrics get the fields that version 1.0 did not have', async () => {
    const record = await one({
      timeWindowStart: '2026-01-29T00:00:00.000Z',
      timeWindowEnd: '2026-01-29T23:59:59.999Z',
      totalSessions: 1000,
      successfulSessions: 950,
      totalAttempts: 1200,
      maxAttemptsInSession: 3,
      totalDuration: 3600,
      byPolicy: { p: { sessions: 500, successRate: 0.95, averageAttempts: 1.1 } },
      bySubsystem: {},
    })
    expect(windowSchema.omit({ latency: true }).safeParse(record).success).toBe(true)
    expect(record).not.toHaveProperty('latency')
    expect(record).toMatchObject({
      failed_sessions: 50,
      average_attempts_per_session: 1.2,
      average_duration_per_session: 3.6,
      by_policy: { p: { sessions: 500, success_rate: 0.95, average_attempts: 1.1 } },
      failure_by_reason: {},
    })
  })

  it('windows of metrics keep their quantiles', async () => {
    const old = {
      time_window_start: '2026-01-29T00:00:00.000Z',
      time_window_end: '2026-01-29T23:59:59.999Z',
      total_sessions: 1,
      successful_sessions: 1,
      total_attempts: 1,
    }
    expect((await one({ ...old, latency: { p50: 0.1, p95: 0.2 } })).latency).toEqual({ p50: 0.1, p95: 0.2 })
    expect(await problem({ ...old, latency: { p50: -1 } })).toContain('metrics: latency.p50: ')
  })

  it('breakers, dead letters and error records are converted', async () => {
    const lines = [
      {
        policy_id: 'a/b',
        state: 'CLOSED',
        failure_count: 2,
        threshold: 5,
        timeout: 60,
        last_state_change: '2026-01-29T12:00:00Z',
      },
      {
        dlq_id: 'dlq_1',
        email_id: 'm1',
        operation_type: 'notion_write',
        status: 'pending',
        original_payload: { emailId: 1 },
        error_details: { error_type: 'E', error_message: 'no', retry_count: 3 },
        created_at: '2026-01-29T12:00:00.123456',
      },
      {
        timestamp: '2026-01-29T12:00:00Z',
        severity: 'error',
        category: 'transient',
        message: 'no',
        errorType: 'socket.timeout',
        context: { email_id: 'm1', operation: 'gmail_fetch' },
      },
    ]
    const { records, report } = await migrateRecords(lines.map((line) => JSON.stringify(line)).join('\n'))
    expect(report).toMatchObject({ breakers: 1, deadLetters: 1, errors: 1, converted: 3, problems: [] })
    const [breaker, letter, error] = records
    expect(breakerSchema.safeParse(breaker).success).toBe(true)
    expect(breaker).toMatchObject({
      id: 'policy:a%2Fb',
      failure_threshold: 5,
      timeout_duration: 60,
      state: 'closed',
    })
    expect(deadLetterSchema.safeParse(letter).success).toBe(true)
    expect(letter).toMatchObject({
      item_id: 'm1',
      idempotency_key: 'dlq_1',
      original_payload: { emailId: 1 },
    })
    expect(errorRecordSchema.safeParse(error).success).toBe(true)
    expect(error).toMatchObject({ severity: 'ERROR', category: 'TRANSIENT', kind: 'timeout' })
  })
})

describe('an error record without a kind', () => {
  const record = {
    timestamp: '2025-11-06T10:15:22.123Z',
    severity: 'ERROR',
    category: 'TRANSIENT',
    message: 'Gmail API timeout during email fetch',
    error_type: 'socket.timeout',
    stack_trace: 'Traceback (most recent call last):\n  File...',
    context: { email_id: '19a3f3f856f0b4d4', operation: 'gmail_fetch', user: 'ann@example.com' },
    http_status: null,
    retry_count: 2,
  }

  it.each([
    ['socket.timeout', null, 'timeout'],
    ['timeout', undefined, 'timeout'],
    ['TimeoutError', null, 'timeout'],
    ['google.api_core.exceptions.DeadlineExceeded', null, 'timeout'],
    ['requests.exceptions.ConnectTimeout', null, 'timeout'],
    ['ConnectionError', null, 'network_error'],
    ['java.net.ConnectException', null, 'network_error'],
    ['OSError', null, 'network_error'],
    ['ResourceExhausted', null, 'rate_limited'],
    ['PermissionError', null, 'access_denied'],
    ['IllegalArgumentException', null, 'validation'],
    ['HttpError', 503, 'server_error'],
    ['HttpError', 429, 'rate_limited'],
    ['HttpError', null, 'unknown'],
    ['ValueError', null, 'unknown'],
    ['transient', null, 'unknown'],
    ['not a name (at all', null, 'unknown'],
    ['__proto__', null, 'unknown'],
    ['constructor', 200, 'unknown'],
  ])('gets that of %s with status %s', async (error_type, http_status, kind) => {
    expect(await one({ ...record, error_type, http_status })).toMatchObject({ error_type, kind })
  })

  it('with a kind keeps it', async () => {
    expect(await one({ ...record, kind: 'mine' })).toMatchObject({ kind: 'mine' })
  })
})

describe('lines', () => {
  it('are counted as converted, unchanged or rejected, without empty ones', async () => {
    const secret = '"http://ann:hunter2@h"'
    const text = `\uFEFF${JSON.stringify(migrated)}\r\n\n${JSON.stringify(session)}\n{"half": \n${secret}\n[]\nnull\n{"a":1}`
    const { report, text: out } = await migrateRecords(text)
    expect(report).toEqual({
      sessions: 2,
      events: 0,
      metrics: 0,
      breakers: 0,
      deadLetters: 0,
      errors: 0,
      converted: 1,
      unchanged: 1,
      problems: [
        { line: 4, message: 'not valid JSON; expected one JSON object per line' },
        { line: 5, message: 'expected an object, got a string' },
        { line: 6, message: 'expected an object, got an array' },
        { line: 7, message: 'expected an object, got null' },
        { line: 8, message: expect.stringContaining('expected a session (session_id, attempts)') },
      ],
      integrity: { in: 7, out: 2, rejected: 5 },
    })
    expect(out.split('\n')[0]).toBe(JSON.stringify(migrated))
    expect(JSON.stringify(report)).not.toContain('hunter2')
  })

  it('are not changed by a second migration', async () => {
    const first = await migrateRecords(JSON.stringify(session))
    const second = await migrateRecords(first.text)
    expect(second.text).toBe(first.text)
    expect(second.report).toMatchObject({ converted: 0, unchanged: 1 })
  })

  it('are read from a file by line or by chunk, and written one by one', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-migrate-'))
    const file = join(dir, 'sessions.jsonl')
    const lines = Array.from({ length: 500 }, (_, i) => JSON.stringify({ ...session, session_id: `s${i}` }))
    await writeFile(file, `${lines.join('\n')}\n`)
    try {
      for (const open of [
        () => createReadStream(file, { encoding: 'utf8', highWaterMark: 1000 }) as AsyncIterable<string>,
        () => createInterface({ input: createReadStream(file) }) as AsyncIterable<string>,
      ]) {
        const written: string[] = []
        const { records, text, report } = await migrateRecords(open(), {
          write: async (line) => void written.push(line),
        })
        expect(report.integrity).toEqual({ in: 500, out: 500, rejected: 0 })
        expect(written.map((line) => (JSON.parse(line) as { session_id: string }).session_id)).toEqual(
          lines.map((_, i) => `s${i}`),
        )
        expect([records, text]).toEqual([[], ''])
      }
    } finally {
      await rm(dir, { recursive: true })
    }
  })

  it.each([undefined, null, 7, {}])('are rejected if the input is %s', async (input) => {
    await expect(migrateRecords(input as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('with generated content match the schemas or are rejected, and all are counted', async () => {
    const mutated = fc
      .tuple(
        fc.constantFrom<object>(session, migrated),
        fc.dictionary(
          fc.constantFrom(...Object.keys(migrated), 'sessionId', 'event_id', 'dlq_id', 'severity'),
          fc.jsonValue(),
        ),
      )
      .map(([base, changes]) => JSON.stringify({ ...base, ...changes }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(mutated, fc.json(), fc.string()), { maxLength: 8 }),
        async (lines) => {
          const { records, report } = await migrateRecords(lines.join('\n'))
          const { in: went, out, rejected } = report.integrity
          expect(went).toBe(out + rejected)
          expect(records).toHaveLength(out)
          expect(report.problems).toHaveLength(rejected)
          expect(report.converted + report.unchanged).toBe(out)
        },
      ),
    )
  })
})

it('migrateRecords does not change the output of toWire', async () => {
  const wire = toWire(sessionCodec.decode(migrated))
  expect((await migrateRecords(JSON.stringify(wire))).report).toMatchObject({ unchanged: 1, converted: 0 })
})
