import type { CircuitBreakerEvent } from '../../../records/src/breaker.js'
import type { DeadLetter } from '../../../records/src/dead-letter.js'
import type { AuditRecord, ErrorRecord } from '../../../records/src/errors.js'
import type { RetryEvent, RetrySession } from '../../../records/src/session.js'
import type { StoredBreaker } from '../../src/store.js'

/** The start of test times: noon, so that seconds do not change the day. */
const NOON = Date.UTC(2026, 0, 15, 12)

/** The time a number of seconds after the start. */
export const at = (seconds: number) => new Date(NOON + seconds * 1000)

export const session = (n: number, over: Partial<RetrySession> = {}): RetrySession => ({
  schema: '1.1',
  sessionId: `default_${NOON}_${n}`,
  policyId: 'default',
  policyIds: ['default'],
  operation: 'browser.state',
  subsystem: 'browser',
  correlationId: `c${n}`,
  startTime: at(n),
  endTime: at(n + 1),
  attempts: [
    {
      schema: '1.1',
      attemptNumber: 1,
      timestamp: at(n),
      delay: 0,
      success: false,
      outcome: 'failure',
      duration: 12.5,
      error: { type: 'Error', message: 'boom' },
      context: { page_url: 'x', nestedKey: { a_b: 1 } },
    },
  ],
  finalError: { type: 'Error', message: 'boom' },
  success: false,
  stopped: 'attempts_spent',
  context: { user_id: 7, camelCase: true },
  totalAttempts: 1,
  totalDuration: 1000,
  retryCount: 0,
  ...over,
})

export const event = (n: number, over: Partial<RetryEvent> = {}): RetryEvent => ({
  schema: '1.1',
  eventId: `evt_${NOON + n * 1000}_${String(n).padStart(6, '0')}`,
  eventType: 'retry_attempt',
  timestamp: at(n),
  correlationId: `c${n}`,
  sessionId: `s${n}`,
  policyId: 'default',
  operation: 'browser.state',
  attempt: 2,
  maxAttempts: 3,
  delay: 250,
  component: 'retry_manager',
  context: { some_key: 1 },
  ...over,
})

export const errorRecord = (n: number, over: Partial<ErrorRecord> = {}): ErrorRecord => ({
  schema: '1.1',
  timestamp: at(n),
  severity: 'ERROR',
  category: 'TRANSIENT',
  message: `failure ${n}`,
  errorType: 'Error',
  context: { operation: 'gmail_fetch', email_id: `m${n}` },
  retryCount: 0,
  kind: 'unknown',
  ...over,
})

export const audit = (n: number, over: Partial<AuditRecord> = {}): AuditRecord => ({
  schema: '1.1',
  auditId: `a${n}`,
  timestamp: at(n),
  actor: 'ann',
  action: 'policy.put',
  target: `policy:${n}`,
  reason: 'why not',
  before: { max_attempts: 3 },
  after: { max_attempts: 5 },
  ...over,
})

export const breakerEvent = (n: number, over: Partial<CircuitBreakerEvent> = {}): CircuitBreakerEvent => ({
  id: 'service:notion',
  proxyId: 'notion',
  fromState: 'closed',
  toState: 'open',
  timestamp: at(n),
  failureCount: n,
  ...over,
})

export const letter = (n: number, over: Partial<DeadLetter> = {}): DeadLetter => ({
  schema: '1.1',
  dlqId: `dlq_${n}`,
  itemId: `item${n}`,
  operationType: 'gmail_fetch',
  status: 'pending',
  originalPayload: { mail_id: n, nestedKey: [1, { b_c: null }] },
  errorDetails: { errorType: 'Error', errorMessage: 'down', stackTrace: 'Error: down', retryCount: 2 },
  createdAt: at(n),
  lastAttempt: at(n),
  processed: false,
  idempotencyKey: `key${n}`,
  policyId: 'default',
  sessionId: 's1',
  correlationId: 'c1',
  ...over,
})

export const storedBreaker = (id: string, failureCount = 5): StoredBreaker => ({
  snapshot: {
    id,
    state: 'open',
    failureCount,
    windowType: 'rolling',
    failureWindow: [NOON - 10, 1, 1, 0, NOON - 5, 1, 1, 0],
    successCount: 0,
    openedInARow: 1,
    openDuration: 30_000,
    epoch: 3,
    nextTestTime: NOON + 30_000,
    lastFailureTime: NOON,
    lastStateChange: NOON,
  },
  createdAt: at(0),
  updatedAt: at(1),
})
