import { DEAD_LETTER_STATUSES, type DeadLetter, reviveDeadLetter } from '@holdfast/records'

const STATUSES: readonly unknown[] = DEAD_LETTER_STATUSES

const isTime = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime())

const isOptionalTime = (value: unknown): boolean => value === undefined || value === null || isTime(value)

/**
 * Returns the dead letter of a stored wire form. Only the fields that every entry has are checked, because complete validation would
 * cost more than the rest of the read.
 *
 * @throws TypeError for a damaged one
 */
export function reviveStoredDeadLetter(wire: object): DeadLetter {
  const entry = reviveDeadLetter(wire)
  const { errorDetails: error } = entry
  const isComplete =
    typeof entry.dlqId === 'string' &&
    typeof entry.itemId === 'string' &&
    typeof entry.operationType === 'string' &&
    typeof entry.idempotencyKey === 'string' &&
    typeof entry.policyId === 'string' &&
    STATUSES.includes(entry.status) &&
    isTime(entry.createdAt) &&
    isTime(entry.lastAttempt) &&
    isOptionalTime(entry.replayedAt) &&
    isOptionalTime(entry.leasedUntil) &&
    isOptionalTime(entry.replayRequestedAt) &&
    typeof error?.errorType === 'string' &&
    typeof error.errorMessage === 'string' &&
    typeof error.retryCount === 'number'
  if (!isComplete) throw new TypeError('not a dead letter')
  return entry
}
