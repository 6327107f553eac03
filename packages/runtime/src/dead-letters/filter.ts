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

/** Which entries are purged: all that fit every word of it. */
export interface PurgeFilter extends Omit<DeadLetterFilter, keyof PageOptions> {
  /** Single entries. */
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

/** A purge by a word that is misspelt would take everything. @throws INVALID_OPTIONS */
export const checkPurgeFilter = (filter: unknown): void =>
  checkOptions('dead letters cannot be purged', filter, {}, PURGE_CHECKS)
