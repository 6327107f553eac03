import type { RuntimeContext } from '@holdfast/config'
import type { DeadLetter } from '@holdfast/records'
import { asSettled, type Settlement } from '@holdfast/store'
import { classify } from 'holdfast'
import { waitOrAbort } from './wait.js'

/** How often a result is recorded while the store fails. The delays are about 50 seconds altogether. */
const RECORD_RETRY = { maxAttempts: 16, baseDelayMs: 100, maxDelayMs: 5000 } as const

/** Records the result of a replay and ends its lease; undefined if another process has settled the entry. */
export type RecordSettlement = (
  entry: DeadLetter,
  owner: string,
  settlement: Settlement,
) => Promise<DeadLetter | undefined>

/**
 * Whether an entry has the result that a settlement gives it. A failure stays in the history, also after another worker has replayed
 * the entry again.
 */
function hasResult(entry: DeadLetter, expected: DeadLetter, isFailure: boolean): boolean {
  const history = expected.errorDetails.history ?? []
  const own = isFailure ? history.at(-1) : undefined
  if (own !== undefined)
    return (entry.errorDetails.history ?? []).some(
      ({ at, errorMessage }) => at?.getTime() === own.at?.getTime() && errorMessage === own.errorMessage,
    )
  return (
    entry.status === expected.status &&
    entry.lastAttempt.getTime() === expected.lastAttempt.getTime() &&
    entry.replayedAt?.getTime() === expected.replayedAt?.getTime() &&
    (entry.errorDetails.history?.length ?? 0) === history.length
  )
}

/**
 * Creates the function that records results. The handler has already done its work, so an outage of the store must not cause a
 * second replay, which would follow when the lease has ended. Nothing is recorded again once the queue closes.
 */
export function createSettlementRecorder(
  { clock, store }: RuntimeContext,
  closeSignal: AbortSignal,
): RecordSettlement {
  const { deadLetters } = store
  const { maxAttempts, baseDelayMs, maxDelayMs } = RECORD_RETRY

  const settle = async (entry: DeadLetter, owner: string, settlement: Settlement, isRetry: boolean) => {
    const settled = await deadLetters.settle(entry.dlqId, owner, settlement)
    if (settled !== undefined || !isRetry) return settled
    // An earlier write may have been committed although its response was lost.
    const current = await deadLetters.get(entry.dlqId, settlement.at)
    const isFailure = settlement.status === 'failed' && settlement.error !== undefined
    const isRecorded = current !== undefined && hasResult(current, asSettled(entry, settlement), isFailure)
    return isRecorded ? current : undefined
  }

  return async (entry, owner, settlement) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await settle(entry, owner, settlement, attempt > 1)
      } catch (error) {
        const canRetry = attempt < maxAttempts && classify(error).category === 'transient'
        if (!canRetry || closeSignal.aborted) throw error
        await waitOrAbort(clock, Math.min(baseDelayMs * 2 ** (attempt - 1), maxDelayMs), [closeSignal])
      }
    }
  }
}
