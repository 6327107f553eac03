import {
  AUDIT_ACTIONS,
  anyBoolean,
  anyString,
  checkOptions,
  errorRecordSchema,
  type OptionCheck,
  PAGE_CHECKS,
  validDate,
} from '@holdfast/records'

const { severity, category } = errorRecordSchema.shape

/** One of a few words: any other would be found nowhere, which looks as if there were nothing. */
const oneOfCheck = (known: readonly string[]): OptionCheck => [
  known.join(', '),
  (value) => known.includes(value as string),
]

const stringList: OptionCheck = [
  'a list of texts',
  (value) => Array.isArray(value) && value.every(anyString[1]),
]

const LIST_CHECKS = { ...PAGE_CHECKS, from: validDate, to: validDate }

/** What the lists of journals can be asked for, by what they list. */
const FILTER_CHECKS = {
  sessions: {
    ...LIST_CHECKS,
    active: anyBoolean,
    operation: anyString,
    subsystem: anyString,
    policyId: anyString,
    correlationId: anyString,
    success: anyBoolean,
  },
  events: {
    ...LIST_CHECKS,
    types: stringList,
    operations: stringList,
    sessionId: anyString,
    after: anyString,
  },
  'error records': {
    ...LIST_CHECKS,
    severity: oneOfCheck(severity.options),
    category: oneOfCheck(category.options),
    operation: anyString,
  },
  'audit records': { ...LIST_CHECKS, actor: anyString, action: oneOfCheck(AUDIT_ACTIONS), target: anyString },
  'changes of breakers': { ...LIST_CHECKS, id: anyString },
} satisfies Record<string, Record<string, OptionCheck>>

/** Refuses a filter that a journal cannot go by. @throws INVALID_OPTIONS */
export function checkJournalFilter(what: keyof typeof FILTER_CHECKS, filter: unknown): void {
  if (filter !== undefined) checkOptions(`${what} cannot be listed`, filter, {}, FILTER_CHECKS[what])
}
