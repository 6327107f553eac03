import { createHash } from 'node:crypto'
import type { ErrorRecord } from '@holdfast/records'
import type { ErrorFilter } from '@holdfast/store'
import { normalizeMessage } from './normalize-message.js'

/** Selects the error records that are grouped. */
export interface ErrorGroupFilter extends Omit<ErrorFilter, 'cursor' | 'order'> {
  /** Only errors of this kind. */
  kind?: string | undefined
}

/** The errors of one operation with the same kind and the same message, apart from ids, times and numbers. */
export interface ErrorGroup {
  /** The id of the group: the same for the same kind, operation and message. */
  readonly groupId: string
  /** The kind of failure. */
  readonly kind: string
  /** The operation; empty if the records have none. */
  readonly operation: string
  /** The message; placeholders such as `<n>` replace the parts that differ. */
  readonly message: string
  /** The name of the error class of the newest record. */
  readonly errorType: string
  /** The HTTP status, if there is one. */
  readonly httpStatus?: number
  /** The number of error records, one per failed attempt. */
  readonly count: number
  /** The time of the oldest record. */
  readonly firstSeen: Date
  /** The time of the newest record. */
  readonly lastSeen: Date
  /** The number of records in each of 24 equal parts of the time range, the oldest first. */
  readonly trend: readonly number[]
  /** The session of the newest record, if it has one. */
  readonly sessionId?: string
}

/** Groups of error records. */
export interface ErrorGroups {
  /** The groups, the largest first. */
  readonly items: readonly ErrorGroup[]
  /** The start of the time range that the groups cover. Later than requested if there were too many records. */
  readonly from: Date
  /** The end of the time range. */
  readonly to: Date
  /** The number of records that were read. */
  readonly scanned: number
  /** Whether all records of the requested time range were read. */
  readonly complete: boolean
}

/** One group with its newest records. */
export interface ErrorGroupDetails extends ErrorGroup {
  /** The newest records of the group, at most 100. */
  readonly records: readonly ErrorRecord[]
}

/** The number of parts of the time range in a trend. */
const TREND_PARTS = 24

/** How many records of a group are returned with it. */
export const MAX_GROUP_RECORDS = 100

const operationOf = ({ context }: ErrorRecord): string =>
  typeof context['operation'] === 'string' ? context['operation'] : ''

interface MutableGroup {
  groupId: string
  kind: string
  operation: string
  message: string
  newest: ErrorRecord
  sessionId: string | undefined
  count: number
  firstSeen: number
  lastSeen: number
  times: number[]
}

/** Groups error records, which are added newest first. */
export class ErrorGrouping {
  private readonly groups = new Map<string, MutableGroup>()

  /** Adds a record and returns the id of its group. */
  add(record: ErrorRecord): string {
    const message = normalizeMessage(record.message, record.httpStatus)
    const operation = operationOf(record)
    const key = JSON.stringify([record.kind, operation, message])
    const at = record.timestamp.getTime()
    const group = this.groups.get(key) ?? {
      groupId: createHash('sha256').update(key).digest('hex').slice(0, 16),
      kind: record.kind,
      operation,
      message,
      newest: record,
      sessionId: undefined,
      count: 0,
      firstSeen: at,
      lastSeen: at,
      times: [],
    }
    group.sessionId ??= record.sessionId ?? undefined
    group.count++
    group.firstSeen = Math.min(group.firstSeen, at)
    group.lastSeen = Math.max(group.lastSeen, at)
    group.times.push(at)
    this.groups.set(key, group)
    return group.groupId
  }

  /** The groups, the largest first, with their trends between two times. */
  list(from: number, to: number, limit = Number.POSITIVE_INFINITY): ErrorGroup[] {
    return [...this.groups.values()]
      .toSorted((a, b) => b.count - a.count || b.lastSeen - a.lastSeen)
      .slice(0, limit)
      .map((group) => toErrorGroup(group, from, to))
  }

  /** One group with its trend between two times; undefined if there is none with this id. */
  find(groupId: string, from: number, to: number): ErrorGroup | undefined {
    const found = [...this.groups.values()].find((group) => group.groupId === groupId)
    return found && toErrorGroup(found, from, to)
  }
}

function toErrorGroup(group: MutableGroup, from: number, to: number): ErrorGroup {
  const { groupId, newest, sessionId, times, firstSeen, lastSeen, kind, operation, message, count } = group
  const trend = Array.from({ length: TREND_PARTS }, () => 0)
  const width = Math.max(1, to - from) / TREND_PARTS
  for (const at of times) {
    const part = Math.min(TREND_PARTS - 1, Math.max(0, Math.floor((at - from) / width)))
    trend[part] = (trend[part] as number) + 1
  }
  return {
    groupId,
    kind,
    operation,
    message,
    errorType: newest.errorType,
    ...(newest.httpStatus != null && { httpStatus: newest.httpStatus }),
    count,
    firstSeen: new Date(firstSeen),
    lastSeen: new Date(lastSeen),
    trend,
    ...(sessionId !== undefined && { sessionId }),
  }
}
