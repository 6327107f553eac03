import { type Check, check, flag, PAGE, time, words } from '../check.js'

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
  'error records': { ...LIST, severity: words, category: words, operation: words },
  'audit records': { ...LIST, actor: words, action: words, target: words },
  'changes of breakers': { ...LIST, id: words },
} satisfies Record<string, Record<string, Check>>

/** Refuses a filter that a journal cannot go by. @throws INVALID_OPTIONS */
export function checkJournalFilter(what: keyof typeof FILTERS, filter: unknown): void {
  if (filter !== undefined) check(`${what} cannot be listed`, filter, {}, FILTERS[what])
}
