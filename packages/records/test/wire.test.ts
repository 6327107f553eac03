import { fakeClock } from 'holdfast/testing'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import type { Explanation } from '../../config/src/explain/explain.js'
import { POLICY_DEFAULTS } from '../../config/src/resolve/resolve-policy.js'
import type { Health } from '../../runtime/src/api-types.js'
import { Holdfast } from '../../runtime/src/holdfast/holdfast.js'
import { toWire } from '../../runtime/src/wire.js'
import type { DeadLetterStats } from '../../store/src/dead-letter-store.js'
import { breakerCodec, breakerEventCodec } from '../src/breaker.js'
import { deadLetterCodec } from '../src/dead-letter.js'
import { auditCodec, errorRecordCodec } from '../src/errors.js'
import { byMemberCodec, type MetricsSummary, seriesCodec, summaryCodec, windowCodec } from '../src/metrics.js'
import { policyCodec } from '../src/policy.js'
import { attemptCodec, eventCodec, sessionCodec } from '../src/session.js'

const at = '2026-01-29T12:00:00.000Z'
const BUILT = { ...POLICY_DEFAULTS, id: 'p', name: 'P' }
const attempt = {
  attempt_number: 1,
  timestamp: at,
  delay: 0,
  success: false,
  outcome: 'failure',
  duration: 1.5,
  context: { keepMe: 1, and_me: 2 },
}

/** Each record in its wire form, with the codec that reads it. */
const RECORDS: [string, { decode(wire: unknown): unknown }, Record<string, unknown>][] = [
  ['attempt', attemptCodec, attempt],
  [
    'session',
    sessionCodec,
    {
      session_id: 's1',
      policy_id: 'p',
      policy_ids: ['p'],
      operation: 'o',
      correlation_id: 'c',
      start_time: at,
      attempts: [attempt],
      success: false,
      context: { userId: 1 },
      total_attempts: 1,
      total_duration: 1.5,
      retry_count: 0,
    },
  ],
  [
    'event',
    eventCodec,
    {
      event_id: 'e',
      event_type: 'alert',
      timestamp: at,
      correlation_id: 'c',
      component: 'pool',
      delay: 0.25,
    },
  ],
  [
    'breaker',
    breakerCodec,
    {
      id: 'policy:p',
      proxy_id: 'p',
      state: 'closed',
      failure_count: 0,
      success_count: 0,
      failure_threshold: 5,
      success_threshold: 1,
      window_type: 'rolling',
      window_duration: 60,
      timeout_duration: 30,
      last_state_change: at,
    },
  ],
  [
    'change of a breaker',
    breakerEventCodec,
    {
      id: 'policy:p',
      proxy_id: 'p',
      from_state: 'closed',
      to_state: 'open',
      timestamp: at,
      failure_count: 5,
    },
  ],
  [
    'error',
    errorRecordCodec,
    {
      timestamp: at,
      severity: 'ERROR',
      category: 'TRANSIENT',
      message: 'm',
      error_type: 'Error',
      context: { operation: 'o' },
      retry_count: 1,
      kind: 'timeout',
    },
  ],
  [
    'dead letter',
    deadLetterCodec,
    {
      dlq_id: 'd',
      item_id: 'i',
      operation_type: 'o',
      status: 'pending',
      original_payload: { camelCase: { deep_snake: 1 } },
      error_details: { error_type: 'E', error_message: 'm', retry_count: 2 },
      created_at: at,
      last_attempt: at,
      processed: false,
      idempotency_key: 'k',
      policy_id: 'p',
    },
  ],
  [
    'audit record',
    auditCodec,
    {
      audit_id: 'a',
      timestamp: at,
      actor: 'ann',
      action: 'policy.put',
      target: 'p',
      before: { maxAttempts: 3 },
    },
  ],
  [
    'policy',
    policyCodec,
    {
      schema: '1.2',
      id: 'p',
      name: 'P',
      enabled: true,
      max_attempts: 3,
      backoff_type: 'exponential',
      base_delay: 0.2,
      multiplier: 2,
      max_delay: 5,
      jitter_type: 'none',
      jitter_amount: 0.1,
      jitter_min: 0,
      jitter_max: 0,
      respect_retry_after: true,
      max_retry_after: 60,
      retry_non_idempotent: false,
      enable_circuit_breaker: false,
      circuit_breaker_threshold: 5,
      circuit_breaker_timeout: 60,
      dead_letter: true,
      shadow: false,
    },
  ],
  [
    'summary',
    summaryCodec,
    { total_retries: 1, success_by_attempt: { 1: 2 }, circuit_breaker_events_count: 0, retention_hours: 24 },
  ],
  [
    'series',
    seriesCodec,
    {
      data_points: [
        { timestamp: at, total_requests: 1, total_retries: 0, success_rate: 1, avg_latency: 0.1 },
      ],
    },
  ],
  [
    'by member',
    byMemberCodec,
    {
      proxies: {
        memberOne: {
          proxy_id: 'memberOne',
          total_attempts: 1,
          success_count: 1,
          failure_count: 0,
          avg_latency: 0.1,
          circuit_breaker_opens: 0,
        },
      },
    },
  ],
  [
    'window',
    windowCodec,
    {
      time_window_start: at,
      time_window_end: at,
      total_sessions: 1,
      successful_sessions: 1,
      failed_sessions: 0,
      total_attempts: 1,
      average_attempts_per_session: 1,
      max_attempts_in_session: 1,
      total_duration: 0.5,
      average_duration_per_session: 0.5,
      by_policy: { 'my-Policy_x': { sessions: 1, success_rate: 1, average_attempts: 1 } },
      by_subsystem: {},
      failure_by_reason: { network_error: 1 },
      latency: { p50: 0.1, p95: 0.2, p99: 0.3 },
    },
  ],
]

describe('toWire', () => {
  it.each(RECORDS)('recognizes a %s by its fields', (_, codec, wire) => {
    const record = codec.decode(wire)
    expect(record).not.toEqual(wire)
    expect(toWire(record)).toEqual(wire)
    expect(toWire([record, record])).toEqual([wire, wire])
    expect(toWire({ items: [record], cursor: 'c1' })).toEqual({ items: [wire], cursor: 'c1' })
  })

  it('adds the version to a policy that has none', () => {
    const { schema, ...bare } = toWire(BUILT) as Record<string, unknown>
    expect(schema).toBe('1.2')
    expect(bare).toMatchObject({ id: 'p', max_attempts: 3 })
  })

  it('accepts other results of the runtime', async () => {
    const hf = await Holdfast.open({
      config: { policies: { p: { maxAttempts: 2, baseDelay: 500, totalTimeout: 5000 } } },
      clock: fakeClock({ wall: Date.parse(at) }),
      env: {},
    })
    onTestFinished(() => hf.close())
    expect(toWire(await hf.health())).toEqual({
      status: 'ok',
      initialized: true,
      policies_count: (await hf.policies.list()).length,
      active_sessions: 0,
      circuit_breakers: { total: 0, open: 0, half_open: 0 },
    })
    await hf.policies.put({ id: 'p', maxAttempts: 3 }, { by: 'ann', reason: 'why' })
    await hf.policies.put({ id: 'p', maxAttempts: 4 }, { by: 'bob' })
    expect(toWire(await hf.config.history())).toEqual([
      { version: 2, by: 'bob', at },
      { version: 1, by: 'ann', reason: 'why', at },
    ])
    const { policies, ...explained } = toWire(await hf.config.explain('p'))
    expect(explained).toMatchObject({ operation: 'p', enabled: true, notes: [expect.any(String)] })
    expect(policies).toMatchObject([
      {
        kind: 'default',
        policy_id: 'p',
        values: {
          max_attempts: { value: 4, origin: 'api' },
          base_delay: { value: 0.5, origin: 'policy' },
          total_timeout: { value: 5, origin: 'policy' },
          backoff_type: { value: 'exponential', origin: 'built-in' },
        },
        schedule: {
          waits: [
            { attempt: 2, base: 0.5, min: 0.5, max: 0.5 },
            { attempt: 3, base: 1 },
            { attempt: 4, base: 2 },
          ],
          total: { base: 3.5, min: 3.5, max: 3.5 },
          more: false,
        },
      },
    ])
    expect(JSON.stringify([explained, policies])).not.toMatch(/policyId|maxAttempts|baseDelay/)
    await hf.deadLetters.enqueue({ operation: 'writeIt', itemId: '1', payload: 1, error: new Error('e') })
    const counts = { pending: 1, replaying: 0, completed: 0, failed: 0 }
    expect(toWire(await hf.deadLetters.stats())).toEqual({
      total: 1,
      by_status: counts,
      by_operation: { writeIt: counts },
      oldest: at,
    })
  })

  it('accepts empty lists and pages', () => {
    expect(toWire([])).toEqual([])
    expect(toWire({ items: [] })).toEqual({ items: [] })
  })

  it.each([undefined, null, 'text', 7, {}, { session_id: 's', attempts: [] }, [1]])('rejects %j', (value) => {
    expect(() => toWire(value)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('expected one of these records'),
      }),
    )
  })

  it('returns the wire type', () => {
    const summary = {} as MetricsSummary
    expectTypeOf(toWire<MetricsSummary>).returns.toHaveProperty('total_retries')
    expectTypeOf(toWire<Health>).returns.toHaveProperty('policies_count')
    expectTypeOf(toWire<DeadLetterStats>).returns.toHaveProperty('by_operation')
    expectTypeOf(toWire<Explanation>).returns.toHaveProperty('policies')
    expectTypeOf(toWire<{ items: MetricsSummary[] }>).returns.toHaveProperty('items')
    expect(() => toWire(summary)).toThrow()
  })
})
