import type { StopReason } from 'holdfast'
import type { WireAttempt, WireSession } from '../../api/types.js'
import { formatName, formatPlural } from '../../format.js'

/** The outcomes of attempts that were rejected before the function was called. */
const REJECTED_OUTCOMES: ReadonlySet<string> = new Set(['circuit_open', 'rate_limited', 'throttled'])

/** The text of stop reasons whose name is not the common term. All others are displayed by their name. */
const STOP_TEXTS: { readonly [reason in StopReason]?: string } = {
  attempts_spent: 'attempts exhausted',
  budget_spent: 'retry budget exhausted',
  deadline: 'total timeout',
  unwanted_value: 'unwanted result',
  aborted: 'aborted by the caller',
  nested: 'inner retries exhausted',
  before_retry: 'beforeRetry failed',
}

/** A stop reason in words. */
export const formatStopReason = (reason: string): string =>
  STOP_TEXTS[reason as StopReason] ?? formatName(reason)

/** Whether an entry of the record is a rejection and not a call of the function. */
export const isRejected = ({ outcome }: { outcome: string }): boolean => REJECTED_OUTCOMES.has(outcome)

/** How often the function was called. The record of a rejected call has an entry, which is no attempt. */
export const attemptCount = ({ attempts }: Pick<WireSession, 'attempts'>): number =>
  attempts.filter((attempt) => !isRejected(attempt)).length

export type SessionResult = 'running' | 'succeeded' | 'failed' | 'rejected'

/** The result of a call. A call that ended without an attempt was rejected. */
export function resultOf(session: Pick<WireSession, 'attempts' | 'end_time' | 'success'>): SessionResult {
  if (session.end_time == null) return 'running'
  if (session.success) return 'succeeded'
  return attemptCount(session) === 0 ? 'rejected' : 'failed'
}

/** The result with its reason: "failed: attempts exhausted", "rejected: circuit open". */
export function formatResult(
  session: Pick<WireSession, 'attempts' | 'end_time' | 'success' | 'stopped'>,
): string {
  const result = resultOf(session)
  const { stopped } = session
  return result === 'running' || result === 'succeeded' || stopped == null
    ? result
    : `${result}: ${formatStopReason(stopped)}`
}

/** "3 attempts"; "0 attempts, rejected: circuit open". */
export function formatAttempts(
  session: Pick<WireSession, 'attempts' | 'end_time' | 'success' | 'stopped'>,
): string {
  const attempts = formatPlural(attemptCount(session), 'attempt', 'attempts')
  return resultOf(session) === 'rejected' ? `${attempts}, ${formatResult(session)}` : attempts
}

/** The error of an attempt, with the status of the response if the message does not contain it. */
export function formatFailure({ status_code, error, success }: WireAttempt): string {
  if (error == null) return status_code == null || success ? '' : `status ${status_code}`
  const hasStatus = status_code == null || error.message.includes(String(status_code))
  return `${error.type}: ${error.message}${hasStatus ? '' : ` (${status_code})`}`
}
