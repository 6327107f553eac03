import { type Check, check, flag, PAGE, time, words } from '../check.js'
import { AUDIT_ACTIONS, errorRecordSchema } from '../records/errors.js'

const { severity, category } = errorRecordSchema.shape

/** One of a few words: any other would be found nowhere, which looks as if there were nothing. */
const oneOf = (known: readonly string[]): Check => [
  known.join(', '),
  (value) => known.includes(value as string),
]

const several: Check = ['a list of texts', (value) => Array.isArray(value) && value.every(words[1])]

const LIST = { ...PAGE, from: time, to: time }

/** What the lists of journals can be asked for, by what they list. */
const FILTERS = {
  sessions: {
    ...LIST,
    active: flag,
    operation: words,
    subsystem: words,
    policyId: words,
    correlationId: words,
    success: flag,
  },
  events: { ...LIST, types: several, operations: several, sessionId: words, after: words },
  'error records': {
    ...LIST,
    severity: oneOf(severity.options),
    category: oneOf(category.options),
    operation: words,
  },
  'audit records': { ...LIST, actor: words, action: oneOf(AUDIT_ACTIONS), target: words },
  'changes of breakers': { ...LIST, id: words },
} satisfies Record<string, Record<string, Check>>

/** Refuses a filter that a journal cannot go by. @throws INVALID_OPTIONS */
export function checkJournalFilter(what: keyof typeof FILTERS, filter: unknown): void {
  if (filter !== undefined) check(`${what} cannot be listed`, filter, {}, FILTERS[what])
}
