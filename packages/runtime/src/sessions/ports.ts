import type { Alerts } from '../alerts/alerts.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { ErrorLog } from '../error-log/error-log.js'
import type { House } from '../house.js'
import type { RetryLog } from '../logging/retry-log.js'
import type { Metrics } from '../metrics/metrics.js'
import { messageOf, summarize } from '../records/summary.js'
import type { RecorderPorts } from './recorder.js'

/** The parts of a runtime that hear of calls. */
export interface RecorderParts {
  house: House
  log: RetryLog
  metrics: Metrics
  errors: ErrorLog
  alerts: Alerts
  deadLetters(): DeadLetters
  /** Whether results are kept. */
  recordResults(): boolean
}

/** Brings what is recorded of calls to each part that it concerns. */
export function recorderPorts(parts: RecorderParts): RecorderPorts {
  const { house, log, metrics, errors, alerts } = parts
  const { clock, random } = house
  return {
    clock,
    random,
    log,
    shaping: () => ({
      error: (error) => summarize(error, (text) => house.redact(text), house.debug()),
      redact: (value) => house.redact(value),
      results: parts.recordResults(),
    }),
    emit: (event) => void house.emit(event),
    session: (record) => house.sessions.add(record),
    error: (call, draft, { error, known, summary }, willRetry) => {
      const { line, given, number } = call
      const { sessionId, correlationId, policyId } = draft
      const operation = given?.name ?? line.operation
      const itemId = given?.itemId
      const record = errors.failed({
        error,
        summary,
        classification: known,
        operation,
        itemId,
        context: draft.context,
        willRetry,
        retryCount: Math.max(0, number - 1),
        sessionId,
      })
      if (record.severity !== 'CRITICAL') return
      const { kind, httpStatus } = record
      const ids = { policyId, sessionId, correlationId, itemId }
      alerts.raise({ operation, kind, error: summary, ...ids, httpStatus: httpStatus ?? undefined })
    },
    member: (pool, member, ok, duration) => metrics.member(pool, member, ok, duration),
    deadLetter: (call, draft, error) => {
      const { deadLetter, shadow, id: policyId } = call.present.record
      if (!deadLetter || shadow) return undefined
      const { payload, itemId, idempotencyKey } = call.given ?? {}
      const { kind, sessionId, correlationId } = draft
      return parts.deadLetters().capture({
        operation: call.line.operation,
        itemId,
        payload,
        error,
        idempotencyKey,
        kind,
        retryCount: Math.max(0, call.number - 1),
        policyId,
        sessionId,
        correlationId,
      })
    },
    trouble: (error) => house.complain(`a call could not be recorded: ${messageOf(error)}`),
  }
}
