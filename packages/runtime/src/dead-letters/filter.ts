import {
  ACTOR_CHECKS,
  checkOptions,
  DEAD_LETTER_STATUSES,
  type DeadLetterStatus,
  nonEmptyString,
  type OptionCheck,
  PAGE_CHECKS,
  validDate,
} from '@holdfast/records'
import type { DeadLetterFilter, PageOptions } from '@holdfast/store'

/** Selects the entries to purge: those that match every field. */
export interface PurgeFilter extends Omit<DeadLetterFilter, keyof PageOptions> {
  /** The ids of single entries. */
  ids?: readonly string[] | undefined
}

const isStatus = (value: unknown) => DEAD_LETTER_STATUSES.includes(value as DeadLetterStatus)

const statusCheck: OptionCheck = [
  `${DEAD_LETTER_STATUSES.join(', ')}, or several of them`,
  (value) => (Array.isArray(value) ? value.every(isStatus) : isStatus(value)),
]
const idsCheck: OptionCheck = [
  'a list of ids',
  (value) => Array.isArray(value) && value.every(nonEmptyString[1]),
]

const FILTER_CHECKS = {
  operation: nonEmptyString,
  itemId: nonEmptyString,
  status: statusCheck,
  from: validDate,
  to: validDate,
}
const LIST_CHECKS = { ...FILTER_CHECKS, ...PAGE_CHECKS }
const PURGE_CHECKS = { ...FILTER_CHECKS, ids: idsCheck, ...ACTOR_CHECKS }

/** @throws INVALID_OPTIONS */
export const checkListFilter = (filter: unknown): void =>
  checkOptions('dead letters cannot be listed', filter, {}, LIST_CHECKS)

/**
 * Rejects unknown fields, because a purge that ignored a misspelt field would delete everything. @throws INVALID_OPTIONS
 */
export const checkPurgeFilter = (filter: unknown): void =>
  checkOptions('dead letters cannot be purged', filter, {}, PURGE_CHECKS)
