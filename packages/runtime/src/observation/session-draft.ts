import { type ErrorSummary, freezeInPlace, randomString } from '@holdfast/records'
import type { Clock, Random } from 'holdfast'
import type { ObservedCall, SessionDraft } from './observed-call.js'

/** Turns values of a call into the form that records hold. */
export interface RecordFormatter {
  summarizeError(error: unknown): ErrorSummary
  redact<T>(value: T): T
  /** Whether results are recorded. */
  readonly keepsResults: boolean
}

/** Creates the draft of a call that has failed for the first time. */
export function createSessionDraft(
  { effectivePolicy, options, history }: ObservedCall,
  { clock, random, formatter }: { clock: Clock; random: Random; formatter: RecordFormatter },
): SessionDraft {
  const startTime = new Date(history[0]?.timestamp ?? clock.wall())
  return {
    sessionId: `${effectivePolicy.record.id}_${startTime.getTime()}_${randomString(random, 8)}`,
    correlationId: options?.correlationId ?? `corr_${randomString(random, 12)}`,
    startTime,
    policyId: effectivePolicy.record.id,
    policyIds: [],
    kind: 'unknown',
    summaries: new Map(),
    context:
      options?.context === undefined
        ? undefined
        : freezeInPlace(toRecordContext(formatter.redact(options.context))),
    nextRetryTime: undefined,
  }
}

/** Creates the draft of a rejected call that is only counted, without ids and context: many calls can be rejected at once. */
export const createShedDraft = ({ effectivePolicy, options }: ObservedCall, clock: Clock): SessionDraft => ({
  sessionId: '',
  correlationId: options?.correlationId ?? '',
  startTime: new Date(clock.wall()),
  policyId: effectivePolicy.record.id,
  policyIds: [],
  kind: 'unknown',
  summaries: new Map(),
  context: undefined,
  nextRetryTime: undefined,
})

/** The redacted context of a call as an object, because redaction replaces a context that cannot be copied by a string. */
export const toRecordContext = (redacted: unknown): Record<string, unknown> =>
  typeof redacted === 'object' && redacted !== null && !Array.isArray(redacted) && !(redacted instanceof Date)
    ? (redacted as Record<string, unknown>)
    : { value: redacted }

/** The redacted summary of an error, made once for each error of a call. */
export function summaryOf(
  { summaries }: SessionDraft,
  error: unknown,
  formatter: RecordFormatter,
): ErrorSummary {
  const summary = summaries.get(error) ?? formatter.summarizeError(error)
  summaries.set(error, summary)
  return summary
}
