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

/** One of a few words. Another word is rejected, because an empty list would look as if there were no records. */
const oneOfCheck = (known: readonly string[]): OptionCheck => [
  known.join(', '),
  (value) => known.includes(value as string),
]

const stringList: OptionCheck = [
  'a list of texts',
  (value) => Array.isArray(value) && value.every(anyString[1]),
]

const LIST_CHECKS = { ...PAGE_CHECKS, from: validDate, to: validDate }

/** The filters of each journal. */
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

/** Checks the filter of a journal. @throws INVALID_OPTIONS if it is not valid */
export function checkJournalFilter(journal: keyof typeof FILTER_CHECKS, filter: unknown): void {
  if (filter !== undefined) checkOptions(`${journal} cannot be listed`, filter, {}, FILTER_CHECKS[journal])
}
