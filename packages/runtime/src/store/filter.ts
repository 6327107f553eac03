import { type Check, check, countless, flag } from '../dead-letters/options.js'

const words: Check = ['a text', (value) => typeof value === 'string']
const several: Check = ['a list of texts', (value) => Array.isArray(value) && value.every(words[1])]
const time: Check = ['a Date', (value) => value instanceof Date && !Number.isNaN(value.getTime())]
const order: Check = ["'oldest' or 'newest'", (value) => value === 'oldest' || value === 'newest']

/** What the filters of journals can say, all of them together. */
const FIELDS: Record<string, Check> = {
  active: flag,
  limit: countless,
  order,
  from: time,
  to: time,
  success: flag,
  types: several,
  operations: several,
  ...Object.fromEntries(
    [
      'operation',
      'subsystem',
      'policyId',
      'correlationId',
      'sessionId',
      'after',
      'severity',
      'category',
      'actor',
      'action',
      'target',
      'id',
      'cursor',
    ].map((field) => [field, words]),
  ),
}

/** Refuses a filter that a journal cannot go by. @throws INVALID_OPTIONS */
export function checkJournalFilter(what: string, filter: unknown): void {
  if (filter !== undefined) check(`${what} cannot be listed`, filter, {}, FIELDS)
}
