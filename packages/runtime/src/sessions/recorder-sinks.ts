import { errorMessageOf, summarizeError } from '@holdfast/records'
import type { Alerts } from '../alerts/alerts.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { ErrorLog } from '../error-log/error-log.js'
import type { RetryLog } from '../logging/retry-log.js'
import type { Metrics } from '../metrics/metrics.js'
import type { StoreBackedContext } from '../store-backed-context.js'
import type { RecorderSinks } from './recorder.js'

/** The parts of a runtime that hear of calls. */
export interface RecorderParts {
  runtime: StoreBackedContext
  log: RetryLog
  metrics: Metrics
  errors: ErrorLog
  alerts: Alerts
  deadLetters(): DeadLetters
  /** Whether results are kept. */
  recordResults(): boolean
}

/** Brings what is recorded of calls to each part that it concerns. */
export function createRecorderSinks(parts: RecorderParts): RecorderSinks {
  const { runtime, log, metrics, errors, alerts } = parts
  const { clock, random } = runtime
  return {
    clock,
    random,
    log,
    formatter: () => ({
      summarizeError: (error) => summarizeError(error, (text) => runtime.redact(text), runtime.isDebug()),
      redact: (value) => runtime.redact(value),
      keepsResults: parts.recordResults(),
    }),
    emit: (event) => void runtime.emit(event),
    addSession: (record) => runtime.sessions.add(record),
    addError: (call, draft, { error, classification, summary }, willRetry) => {
      const { operation: line, options, number } = call
      const { sessionId, correlationId, policyId } = draft
      const operation = options?.name ?? line.name
      const itemId = options?.itemId
      const record = errors.recordFailure({
        error,
        summary,
        classification: classification,
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
    addMemberAttempt: (pool, member, ok, duration) => metrics.recordMemberAttempt(pool, member, ok, duration),
    addDeadLetter: (call, draft, error) => {
      const { deadLetter, shadow, id: policyId } = call.effectivePolicy.record
      if (!deadLetter || shadow) return undefined
      const { payload, itemId, idempotencyKey } = call.options ?? {}
      const { kind, sessionId, correlationId } = draft
      return parts.deadLetters().capture({
        operation: call.operation.name,
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
    onInternalError: (error) => runtime.warn(`a call could not be recorded: ${errorMessageOf(error)}`),
  }
}
