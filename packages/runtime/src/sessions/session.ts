import { deepCopy, type RetryAttempt, type RetrySession, SCHEMA } from '@holdfast/records'
import type { AttemptRecord } from 'holdfast'
import type { CallEnd } from '../observation/call-observer.js'
import { type FailingCall, recordedName, type SessionDraft } from '../observation/observed-call.js'
import { type RecordFormatter, toRecordContext } from '../observation/session-draft.js'
import { roundToMicroseconds } from '../round.js'

const MAX_RESULT_CHARACTERS = 8192

/** How many attempts of a session are recorded. */
const MAX_ATTEMPTS_KEPT = 1000

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

/** The session of a call that failed at least once. Without `end` the call is still running. */
export function createSessionRecord(
  call: FailingCall,
  end: CallEnd | undefined,
  now: number,
  formatter: RecordFormatter,
): RetrySession {
  const { draft, history, number } = call
  // Of a very long call, only the first and the last attempts are recorded.
  const shown =
    history.length > MAX_ATTEMPTS_KEPT
      ? [...history.slice(0, 10), ...history.slice(10 - MAX_ATTEMPTS_KEPT)]
      : history
  const attempts = shown.map((record) => toRetryAttempt(record, formatter, draft))
  const { subsystem } = call.operation
  const success = end?.isSuccess ?? false
  const session: RetrySession = {
    schema: SCHEMA,
    sessionId: draft.sessionId,
    policyId: draft.policyId,
    policyIds: [...draft.policyIds],
    operation: recordedName(call),
    correlationId: draft.correlationId,
    startTime: new Date(draft.startTime),
    attempts,
    success,
    // The attempt that is running counts too.
    totalAttempts: end?.attempts ?? number,
    totalDuration: end?.durationMs ?? roundToMicroseconds(Math.max(0, now - draft.startTime.getTime())),
    retryCount: end?.retryCount ?? Math.max(0, number - 1),
  }
  if (subsystem !== undefined) session.subsystem = subsystem
  if (draft.context !== undefined)
    session.context = end === undefined ? deepCopy(draft.context) : draft.context
  if (draft.nextRetryTime !== undefined && end === undefined)
    session.nextRetryTime = new Date(draft.nextRetryTime)
  if (end === undefined) return session
  session.endTime = new Date(Math.max(end.at, draft.startTime.getTime()))
  session.stopped = end.stopped
  if (end.served !== undefined) session.served = end.served
  if (success) {
    if (formatter.keepsResults) session.finalResult = limitResult(formatter.redact(end.result))
  } else if (end.error !== undefined) {
    session.finalError = end.error
  }
  return session
}

/** Replaces a result that is too large, or that is not JSON, by a sentence about it. */
function limitResult(result: unknown): unknown {
  try {
    const text = JSON.stringify(result)
    if (text === undefined) return null
    return text.length <= MAX_RESULT_CHARACTERS
      ? result
      : `a result of ${text.length} characters, too large to record`
  } catch {
    return 'a result that is not JSON'
  }
}
