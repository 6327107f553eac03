import { ACTOR, type Check, check, PAGE, text, time } from '../check.js'
import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '../records/dead-letter.js'
import type { DeadLetterFilter, PageOptions } from '../store/store.js'

/** Which entries are purged: all that fit every word of it. */
export interface PurgeFilter extends Omit<DeadLetterFilter, keyof PageOptions> {
  /** Single entries. */
  ids?: readonly string[] | undefined
}

const isStatus = (value: unknown) => DEAD_LETTER_STATUSES.includes(value as DeadLetterStatus)

const status: Check = [
  `${DEAD_LETTER_STATUSES.join(', ')}, or several of them`,
  (value) => (Array.isArray(value) ? value.every(isStatus) : isStatus(value)),
]
const ids: Check = ['a list of ids', (value) => Array.isArray(value) && value.every(text[1])]

const FILTER = { operation: text, itemId: text, status, from: time, to: time }
const LIST = { ...FILTER, ...PAGE }
const PURGE = { ...FILTER, ids, ...ACTOR }

/** @throws INVALID_OPTIONS */
export const checkList = (filter: unknown): void => check('dead letters cannot be listed', filter, {}, LIST)

/** A purge by a word that is misspelt would take everything. @throws INVALID_OPTIONS */
export const checkPurge = (filter: unknown): void => check('dead letters cannot be purged', filter, {}, PURGE)
