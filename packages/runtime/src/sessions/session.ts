import { deepCopy, type ErrorSummary, type RetryAttempt, type RetrySession, SCHEMA } from '@holdfast/records'
import type { AttemptRecord, StopReason } from 'holdfast'
import type { RuntimeCall, SessionDraft } from '../execution/runtime-call.js'
import { toRecordContext } from './draft.js'

/** What turns a call into records. */
export interface RecordFormatter {
  summarizeError(error: unknown): ErrorSummary
  redact<T>(value: T): T
  /** Whether results are kept, at most this many characters of JSON. */
  keepsResults: boolean
}

const MAX_RESULT_CHARACTERS = 8192

/** How many attempts of a session are kept. */
const MAX_ATTEMPTS_KEPT = 1000

/** Microseconds are as fine as anybody reads. */
const roundToMicroseconds = (ms: number) => Math.round(ms * 1000) / 1000

function toRetryAttempt(
  record: AttemptRecord,
  formatter: RecordFormatter,
  { summaries }: SessionDraft,
): RetryAttempt {
  const attempt: RetryAttempt = {
    attemptNumber: record.number,
    timestamp: new Date(record.timestamp),
    delay: roundToMicroseconds(record.delay),
    success: record.outcome === 'success',
    outcome: record.outcome,
    duration: roundToMicroseconds(Math.max(0, record.duration)),
  }
  if (record.statusCode !== undefined) attempt.statusCode = record.statusCode
  if (record.memberId !== undefined) attempt.proxyId = record.memberId
  if ('error' in record) attempt.error = summaries.get(record.error) ?? formatter.summarizeError(record.error)
  if (record.context !== undefined) attempt.context = toRecordContext(formatter.redact(record.context))
  return attempt
}

/** The record of a call that failed at least once; without `stopped`, of one that still runs. */
export function createSessionRecord(
  call: RuntimeCall,
  draft: SessionDraft,
  end: { stopped: StopReason; result: unknown; at: number } | undefined,
  now: number,
  formatter: RecordFormatter,
): RetrySession {
  const { history } = call
  // Of a call that goes on for ever, the first attempts and the last ones are kept.
  const shown =
    history.length > MAX_ATTEMPTS_KEPT
      ? [...history.slice(0, 10), ...history.slice(10 - MAX_ATTEMPTS_KEPT)]
      : history
  const attempts = shown.map((record) => toRetryAttempt(record, formatter, draft))
  const { operation, options } = call
  const success = end?.stopped === 'succeeded'
  const session: RetrySession = {
    schema: SCHEMA,
    sessionId: draft.sessionId,
    policyId: draft.policyId,
    policyIds: [...draft.policyIds],
    operation: options?.name ?? operation.name,
    correlationId: draft.correlationId,
    startTime: new Date(draft.startTime),
    attempts,
    success,
    // One that runs tells the attempt that runs.
    totalAttempts: end === undefined ? call.number : history.length,
    totalDuration: roundToMicroseconds(Math.max(0, (end?.at ?? now) - draft.startTime.getTime())),
    retryCount: Math.max(0, (end === undefined ? call.number : (history.at(-1)?.number ?? 1)) - 1),
  }
  if (operation.subsystem !== undefined) session.subsystem = operation.subsystem
  if (draft.context !== undefined)
    session.context = end === undefined ? deepCopy(draft.context) : draft.context
  if (draft.nextRetryTime !== undefined && end === undefined)
    session.nextRetryTime = new Date(draft.nextRetryTime)
  if (end === undefined) return session
  session.endTime = new Date(Math.max(end.at, draft.startTime.getTime()))
  session.stopped = end.stopped
  if (success) {
    if (formatter.keepsResults) session.finalResult = limitResult(formatter.redact(end.result))
  } else if (end.stopped !== 'unwanted_value') {
    session.finalError = draft.summaries.get(end.result) ?? formatter.summarizeError(end.result)
  }
  return session
}

/** A result that is too large to keep is named instead. */
function limitResult(result: unknown): unknown {
  try {
    const text = JSON.stringify(result)
    if (text === undefined) return null
    return text.length <= MAX_RESULT_CHARACTERS
      ? result
      : `a result of ${text.length} characters, too large to keep`
  } catch {
    return 'a result that is no JSON'
  }
}
