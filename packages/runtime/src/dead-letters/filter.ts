import { HoldfastError } from 'holdfast'
import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '../records/dead-letter.js'
import type { DeadLetterFilter, PageOptions } from '../store/store.js'
import { type Check, check, text } from './options.js'

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
const time: Check = ['a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())]
const ids: Check = ['a list of ids', (value) => Array.isArray(value) && value.every(text[1])]

const FILTER = { operation: text, itemId: text, status, from: time, to: time }

/** A purge by a word that is misspelt would take everything. @throws INVALID_OPTIONS */
export function checkPurge(filter: object): void {
  const what = 'dead letters cannot be purged'
  checkFilter(what, filter)
  const known = [...Object.keys(FILTER), 'ids']
  const unknown = Object.keys(filter).filter((name) => ![...known, 'by', 'reason'].includes(name))
  if (unknown.length === 0) return
  const problems = unknown.map((name) => `${name}: there is no such filter; there are ${known.join(', ')}`)
  throw new HoldfastError('INVALID_OPTIONS', `${what}: ${problems.join('; ')}`, { details: problems })
}

/** @throws INVALID_OPTIONS */
export const checkFilter = (what: string, filter: unknown): void =>
  check(what, filter, {}, { ...FILTER, ids })
