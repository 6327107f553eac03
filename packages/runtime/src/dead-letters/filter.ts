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
import type { DeadLetterFilter, DeadLetterSelector } from '@holdfast/store'

/** Selects entries by their content. */
export interface TextSearch {
  /**
   * Only entries whose item id, correlation id or payload contains this text, in upper or lower case. The payload is searched as
   * JSON without spaces: `"customer":"acme"` finds one value of one field.
   */
  search?: string | undefined
}

/** Selects a page of entries: those that match every field. */
export interface DeadLetterListFilter extends DeadLetterFilter, TextSearch {}

/** Selects entries: those that match every field. Lists, counts, replays and purges select the same entries. */
export interface DeadLetterSelection extends DeadLetterSelector, TextSearch {
  /** Only entries with these ids. */
  ids?: readonly string[] | undefined
}

/** The number of matching entries. */
export interface DeadLetterCount {
  /** The number of all matching entries. */
  total: number
  /** The number of matching entries with each status. */
  byStatus: Record<DeadLetterStatus, number>
  /** When they were counted. */
  at: Date
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
  search: nonEmptyString,
}
const LIST_CHECKS = { ...FILTER_CHECKS, ...PAGE_CHECKS }

/** The checks of a selection. */
export const SELECTION_CHECKS = { ...FILTER_CHECKS, ids: idsCheck }

const PURGE_CHECKS = { ...SELECTION_CHECKS, ...ACTOR_CHECKS }

/** @throws INVALID_OPTIONS */
export const checkListFilter = (filter: unknown): void =>
  checkOptions('dead letters cannot be listed', filter, {}, LIST_CHECKS)

/** @throws INVALID_OPTIONS */
export const checkSelection = (selection: unknown): void =>
  checkOptions('dead letters cannot be counted', selection, {}, SELECTION_CHECKS)

/**
 * Rejects unknown fields, because a purge that ignored a misspelt field would delete everything. @throws INVALID_OPTIONS
 */
export const checkPurgeFilter = (filter: unknown): void =>
  checkOptions('dead letters cannot be purged', filter, {}, PURGE_CHECKS)
