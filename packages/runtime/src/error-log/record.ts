import { type ErrorRecord, errorMessageOf, errorStackOf, errorTypeOf, SCHEMA } from '@holdfast/records'
import type { Classification } from 'holdfast'

/** The input of an error record for a failed attempt. */
export interface FailedAttempt {
  readonly error: unknown
  /** The redacted summary of the error. @defaultValue a summary of the error */
  readonly summary?: { readonly type: string; readonly message: string } | undefined
  /** Absent where the error was not classified. */
  readonly classification?:
    | (Pick<Classification, 'category' | 'httpStatus'> & { readonly kind: string })
    | undefined
  readonly operation: string
  readonly itemId?: string | undefined
  /** The caller's context. Its keys are not changed. */
  readonly context?: object | undefined
  /** Whether the attempt is retried. */
  readonly willRetry: boolean
  /** The number of retries so far. */
  readonly retryCount: number
  readonly sessionId?: string | undefined
}

/** The input of an error record for a breaker that opened. */
export interface BreakerOpening {
  readonly id: string
  readonly failureCount: number
  /** The operation whose failure opened the breaker, where that is known. */
  readonly operation?: string | undefined
}

/** The context in which a record is made. */
interface RecordContext {
  readonly timestamp: Date
  readonly isDebug: boolean
  redact<T>(value: T): T
}

const RECORD_CATEGORIES = { transient: 'TRANSIENT', permanent: 'PERMANENT', critical: 'CRITICAL' } as const

/** WARNING for an attempt that is retried, ERROR for one that ended the call, CRITICAL where a person must act. */
function severityOf(category: keyof typeof RECORD_CATEGORIES, willRetry: boolean): ErrorRecord['severity'] {
  if (category === 'critical') return 'CRITICAL'
  return willRetry ? 'WARNING' : 'ERROR'
}

/** The record of a failed attempt. */
export function createFailureRecord(
  failed: FailedAttempt,
  { timestamp, isDebug, redact }: RecordContext,
): ErrorRecord {
  const { error, classification, operation, itemId, context, willRetry, retryCount, sessionId } = failed
  const { category = 'transient', kind = 'unknown', httpStatus } = classification ?? {}
  // Redaction replaces a context that cannot be copied by a string.
  const copy: unknown = redact(context)
  const facts = typeof copy === 'string' ? { context: copy } : (copy as object | undefined)
  const record: ErrorRecord = {
    schema: SCHEMA,
    timestamp,
    severity: severityOf(category, willRetry),
    category: RECORD_CATEGORIES[category],
    message: failed.summary?.message ?? errorMessageOf(error, redact),
    errorType: failed.summary?.type ?? errorTypeOf(error, redact),
    context: { ...facts, operation, ...(itemId === undefined ? undefined : { item_id: itemId }) },
    retryCount,
    kind,
  }
  if (httpStatus !== undefined) record.httpStatus = httpStatus
  if (sessionId !== undefined) record.sessionId = sessionId
  const stack = isDebug ? errorStackOf(error, redact) : undefined
  if (stack !== undefined) record.stackTrace = stack
  return record
}

/** The record of a breaker that opened. */
export function createOpeningRecord(
  { id, failureCount, operation = id }: BreakerOpening,
  timestamp: Date,
): ErrorRecord {
  return {
    schema: SCHEMA,
    timestamp,
    severity: 'WARNING',
    category: 'TRANSIENT',
    message: `circuit breaker ${id} opened after ${failureCount} ${failureCount === 1 ? 'failure' : 'failures'}`,
    errorType: 'CircuitBreakerOpen',
    context: { operation, circuit_breaker: id },
    retryCount: 0,
    kind: 'circuit_open',
  }
}
