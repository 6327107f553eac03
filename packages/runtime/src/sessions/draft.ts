import type { Clock, Random } from 'holdfast'
import type { Draft, RuntimeCall } from '../calls/call.js'
import { chance } from '../ids.js'
import { freezeFresh } from '../records/own.js'
import type { Shaping } from './session.js'

/** What a session begins with, when its call has failed for the first time. */
export function newDraft(
  { present, given, history }: RuntimeCall,
  { clock, random, shaping }: { clock: Clock; random: Random; shaping: Shaping },
): Draft {
  const startTime = new Date(history[0]?.timestamp ?? clock.wall())
  return {
    sessionId: `${present.record.id}_${startTime.getTime()}_${chance(random, 8)}`,
    correlationId: given?.correlationId ?? `corr_${chance(random, 12)}`,
    startTime,
    policyId: present.record.id,
    policyIds: [],
    kind: 'unknown',
    summaries: new Map(),
    context: given?.context === undefined ? undefined : freezeFresh(factsOf(shaping.redact(given.context))),
    nextRetryTime: undefined,
  }
}

/** Facts as records hold them, whatever was given for them: one that cannot be read has become a word. */
export const factsOf = (redacted: unknown): Record<string, unknown> =>
  typeof redacted === 'object' && redacted !== null && !Array.isArray(redacted) && !(redacted instanceof Date)
    ? (redacted as Record<string, unknown>)
    : { value: redacted }
