import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterQuery } from './dead-letter-index.js'

/** Selects rows of entries by their status at a time: an entry with an expired lease is pending. */
export interface RowSelection extends DeadLetterQuery {
  /** Only entries that are not leased. */
  isUnleased?: boolean | undefined
  /** Ids to skip. */
  except?: ReadonlySet<string> | undefined
}

/** A scan of the entries with a stored status. */
interface StatusScan {
  readonly status: DeadLetterStatus
  /** Only entries whose lease is held, or has expired. */
  readonly lease?: 'held' | 'expired' | undefined
}

/** The scans for the selected statuses. Entries stored as `replaying` are pending once their lease has expired. */
export function statusScans({
  statuses = DEAD_LETTER_STATUSES,
  isUnleased = false,
}: RowSelection): StatusScan[] {
  const includesLeased = statuses.includes('replaying') && !isUnleased
  const includesExpired = statuses.includes('pending')
  const scans: StatusScan[] = DEAD_LETTER_STATUSES.filter(
    (status) => status !== 'replaying' && statuses.includes(status),
  ).map((status) => ({ status }))
  if (includesLeased && includesExpired) scans.push({ status: 'replaying' })
  else if (includesLeased) scans.push({ status: 'replaying', lease: 'held' })
  else if (includesExpired) scans.push({ status: 'replaying', lease: 'expired' })
  return scans
}
