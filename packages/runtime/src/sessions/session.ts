import type { AttemptRecord, StopReason } from 'holdfast'
import type { Draft, RuntimeCall } from '../calls/call.js'
import { copied } from '../records/own.js'
import { type ErrorSummary, type RetryAttempt, type RetrySession, SCHEMA } from '../records/session.js'
import { factsOf } from './draft.js'

/** What turns a call into records. */
export interface Shaping {
  error(error: unknown): ErrorSummary
  redact<T>(value: T): T
  /** Whether results are kept, at most this many characters of JSON. */
  results: boolean
}

const RESULT_LIMIT = 8192

/** How many attempts of a session are kept. */
const MOST = 1000

/** Microseconds are as fine as anybody reads. */
const tidy = (ms: number) => Math.round(ms * 1000) / 1000

function attemptOf(record: AttemptRecord, shaping: Shaping, { summaries }: Draft): RetryAttempt {
  const attempt: RetryAttempt = {
    attemptNumber: record.number,
    timestamp: new Date(record.timestamp),
    delay: tidy(record.delay),
    success: record.outcome === 'success',
    outcome: record.outcome,
    duration: tidy(Math.max(0, record.duration)),
  }
  if (record.statusCode !== undefined) attempt.statusCode = record.statusCode
  if (record.memberId !== undefined) attempt.proxyId = record.memberId
  if ('error' in record) attempt.error = summaries.get(record.error) ?? shaping.error(record.error)
  if (record.context !== undefined) attempt.context = factsOf(shaping.redact(record.context))
  return attempt
}

/** The record of a call that failed at least once; without `stopped`, of one that still runs. */
export function sessionRecord(
  call: RuntimeCall,
  draft: Draft,
  end: { stopped: StopReason; result: unknown; at: number } | undefined,
  now: number,
  shaping: Shaping,
): RetrySession {
  const { history } = call
  // Of a call that goes on for ever, the first attempts and the last ones are kept.
  const shown = history.length > MOST ? [...history.slice(0, 10), ...history.slice(10 - MOST)] : history
  const attempts = shown.map((record) => attemptOf(record, shaping, draft))
  const { line, given } = call
  const success = end?.stopped === 'succeeded'
  const session: RetrySession = {
    schema: SCHEMA,
    sessionId: draft.sessionId,
    policyId: draft.policyId,
    policyIds: [...draft.policyIds],
    operation: given?.name ?? line.operation,
    correlationId: draft.correlationId,
    startTime: new Date(draft.startTime),
    attempts,
    success,
    // One that runs tells the attempt that runs.
    totalAttempts: end === undefined ? call.number : history.length,
    totalDuration: tidy(Math.max(0, (end?.at ?? now) - draft.startTime.getTime())),
    retryCount: Math.max(0, (end === undefined ? call.number : (history.at(-1)?.number ?? 1)) - 1),
  }
  if (line.subsystem !== undefined) session.subsystem = line.subsystem
  if (draft.context !== undefined) session.context = end === undefined ? copied(draft.context) : draft.context
  if (draft.nextRetryTime !== undefined && end === undefined)
    session.nextRetryTime = new Date(draft.nextRetryTime)
  if (end === undefined) return session
  session.endTime = new Date(Math.max(end.at, draft.startTime.getTime()))
  session.stopped = end.stopped
  if (success) {
    if (shaping.results) session.finalResult = smallResult(shaping.redact(end.result))
  } else if (end.stopped !== 'unwanted_value') {
    session.finalError = draft.summaries.get(end.result) ?? shaping.error(end.result)
  }
  return session
}

/** A result that is too large to keep is named instead. */
function smallResult(result: unknown): unknown {
  try {
    const text = JSON.stringify(result)
    if (text === undefined) return null
    return text.length <= RESULT_LIMIT ? result : `a result of ${text.length} characters, too large to keep`
  } catch {
    return 'a result that is no JSON'
  }
}
