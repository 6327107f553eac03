import { freezeInPlace, randomString } from '@holdfast/records'
import type { Clock, Random } from 'holdfast'
import type { RuntimeCall, SessionDraft } from '../execution/runtime-call.js'
import type { RecordFormatter } from './session.js'

/** What a session begins with, when its call has failed for the first time. */
export function createSessionDraft(
  { effectivePolicy, options, history }: RuntimeCall,
  { clock, random, shaping: formatter }: { clock: Clock; random: Random; shaping: RecordFormatter },
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

/** Facts as records hold them, whatever was given for them: one that cannot be read has become a word. */
export const toRecordContext = (redacted: unknown): Record<string, unknown> =>
  typeof redacted === 'object' && redacted !== null && !Array.isArray(redacted) && !(redacted instanceof Date)
    ? (redacted as Record<string, unknown>)
    : { value: redacted }
