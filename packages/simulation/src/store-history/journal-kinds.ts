import type { Journal, PageOptions, Store } from '@holdfast/store'
import type { Choices } from '../engine/seeded-random.js'

/** A record of a journal, as a history knows it. */
export interface ModelRecord {
  readonly number: number
  readonly time: number
  /** A value that filters select by. */
  readonly group: string
  /** Records with the same severity are in one folder. */
  readonly severity: string
}

/** A filter, and whether it selects a record. */
interface PlannedFilter {
  readonly filter: object
  matches(record: ModelRecord): boolean
}

type AnyJournal = Journal<object, PageOptions>

/** A journal of a store: how its records are created, identified and selected. */
export interface JournalKind {
  readonly name: 'sessions' | 'events' | 'errors' | 'audit' | 'breakerEvents'
  readonly folder: string
  /** Whether each severity has a folder. */
  readonly hasFolders: boolean
  create(record: ModelRecord): object
  numberOf(record: object): number
  filterBy(group: string): object
}

const GROUPS = ['alpha', 'beta'] as const
export const SEVERITIES = ['WARNING', 'ERROR'] as const

const base = ({ time }: ModelRecord) => ({ schema: '1.2', timestamp: new Date(time) })
const numberIn = (text: unknown): number => Number(String(text).split('-').at(-1))

export const JOURNAL_KINDS: readonly JournalKind[] = [
  {
    name: 'sessions',
    folder: 'sessions',
    hasFolders: false,
    create: ({ number, time, group }) => ({
      schema: '1.2',
      sessionId: `session-${number}`,
      policyId: 'default',
      policyIds: ['default'],
      operation: group,
      correlationId: `c-${number}`,
      startTime: new Date(time),
      attempts: [],
      success: false,
      totalAttempts: 1,
      totalDuration: 5,
      retryCount: 0,
    }),
    numberOf: (record) => numberIn((record as { sessionId: string }).sessionId),
    filterBy: (operation) => ({ operation }),
  },
  {
    name: 'events',
    folder: 'events',
    hasFolders: false,
    create: (record) => ({
      ...base(record),
      eventId: `event-${record.number}`,
      eventType: 'retry_attempt',
      correlationId: 'c',
      sessionId: null,
      operation: record.group,
      component: 'retry_manager',
      context: { text: 'ä "quoted" text\n' },
    }),
    numberOf: (record) => numberIn((record as { eventId: string }).eventId),
    filterBy: (operation) => ({ operations: [operation, 'other'] }),
  },
  {
    name: 'errors',
    folder: 'logs',
    hasFolders: true,
    create: (record) => ({
      ...base(record),
      severity: record.severity,
      category: 'TRANSIENT',
      message: `failure-${record.number}`,
      errorType: 'Error',
      context: { operation: record.group },
      retryCount: 0,
      kind: 'unknown',
    }),
    numberOf: (record) => numberIn((record as { message: string }).message),
    filterBy: (operation) => ({ operation }),
  },
  {
    name: 'audit',
    folder: 'audit',
    hasFolders: false,
    create: (record) => ({
      ...base(record),
      auditId: `audit-${record.number}`,
      actor: record.group,
      action: 'policy.put',
      target: 'policy:mail',
    }),
    numberOf: (record) => numberIn((record as { auditId: string }).auditId),
    filterBy: (actor) => ({ actor }),
  },
  {
    name: 'breakerEvents',
    folder: 'breaker_events',
    hasFolders: false,
    create: ({ number, time, group }) => ({
      id: group,
      proxyId: null,
      fromState: 'closed',
      toState: 'open',
      timestamp: new Date(time),
      failureCount: number,
    }),
    numberOf: (record) => (record as { failureCount: number }).failureCount,
    filterBy: (id) => ({ id }),
  },
]

/** The journal of a store. */
export const journalOf = (store: Store, { name }: JournalKind): AnyJournal =>
  store[name] as unknown as AnyJournal

export const planRecord = (choices: Choices, number: number, time: number): ModelRecord => ({
  number,
  time,
  group: choices.pick(GROUPS),
  severity: choices.pick(SEVERITIES),
})

/** Chooses a filter. Times are those of records, because mistakes are most likely at the limits. */
export function planRecordFilter(
  { name, filterBy }: JournalKind,
  choices: Choices,
  records: readonly ModelRecord[],
): PlannedFilter {
  const time = () => (choices.pick(records)?.time ?? 0) + choices.pick([-1, 0, 0, 1])
  const group = choices.chance(0.4) ? choices.pick(GROUPS) : undefined
  const severity = name === 'errors' && choices.chance(0.3) ? choices.pick(SEVERITIES) : undefined
  const from = records.length > 0 && choices.chance(0.3) ? time() : undefined
  const to = records.length > 0 && choices.chance(0.3) ? time() : undefined
  return {
    filter: {
      ...(group !== undefined && filterBy(group)),
      ...(severity !== undefined && { severity }),
      ...(from !== undefined && { from: new Date(from) }),
      ...(to !== undefined && { to: new Date(to) }),
    },
    matches: (record) =>
      (group === undefined || record.group === group) &&
      (severity === undefined || record.severity === severity) &&
      (from === undefined || record.time >= from) &&
      (to === undefined || record.time < to),
  }
}
