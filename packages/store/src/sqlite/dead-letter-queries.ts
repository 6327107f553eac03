import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterQuery } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import type { SqliteValue } from './driver.js'

/** Selects entries by their status at a time: an entry with an expired lease is pending. */
export interface DeadLetterSelection extends DeadLetterQuery {
  /** Only entries that are not leased. */
  isUnleased?: boolean | undefined
}

/** The position of an entry in a list: by age, then by order of insertion. */
export interface RowPosition {
  created_at: number
  seq: number
}

/** A scan of an index in which entries are sorted by age. */
interface IndexScan {
  conditions: string[]
  values: SqliteValue[]
}

const ALL_STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** The scans for the selected statuses. Entries stored as `replaying` are pending once their lease has expired. */
function statusScans(
  { statuses = ALL_STATUSES, isUnleased = false }: DeadLetterSelection,
  now: number,
): IndexScan[] {
  const includesLeased = statuses.includes('replaying') && !isUnleased
  const includesExpired = statuses.includes('pending')
  const stored = ALL_STATUSES.filter((status) => status !== 'replaying' && statuses.includes(status))
  const scans: IndexScan[] = stored.map((status) => ({ conditions: ['status = ?'], values: [status] }))
  if (includesLeased && includesExpired) scans.push({ conditions: ["status = 'replaying'"], values: [] })
  else if (includesLeased)
    scans.push({ conditions: ["status = 'replaying'", 'leased_until > ?'], values: [now] })
  else if (includesExpired)
    scans.push({ conditions: ["status = 'replaying'", 'leased_until <= ?'], values: [now] })
  return scans
}

function indexScans(selection: DeadLetterSelection, now: number): IndexScan[] {
  const scans = statusScans(selection, now)
  const { operations } = selection
  if (operations === undefined) return scans
  return [...new Set(operations)].flatMap((operation) =>
    scans.map(({ conditions, values }) => ({
      conditions: ['operation_type = ?', ...conditions],
      values: [toColumn(operation), ...values],
    })),
  )
}

/** A few entries are found by id or request; all others are scanned in order of age. */
function indexFor({ ids, requested, operations }: DeadLetterSelection): string {
  if (ids !== undefined) return 'sqlite_autoindex_dead_letters_1'
  if (requested === true) return 'dead_letters_requested'
  return operations === undefined ? 'dead_letters_by_status' : 'dead_letters_by_operation'
}

/**
 * Finds the positions of matching entries in order, after a position if one is given, at most `limit`. Each index scan returns
 * up to `limit` positions, of which the first ones are the result.
 */
export function selectPositions(
  sql: SqliteConnection,
  selection: DeadLetterSelection,
  now: number,
  page: { isNewestFirst: boolean; after?: RowPosition | undefined; limit: number },
): RowPosition[] {
  const { isNewestFirst, after, limit } = page
  const conditions: string[] = []
  const values: SqliteValue[] = []
  const addCondition = (condition: string, ...conditionValues: SqliteValue[]) => {
    conditions.push(condition)
    values.push(...conditionValues)
  }
  if (selection.from !== undefined) addCondition('created_at >= ?', selection.from.getTime())
  if (selection.to !== undefined) addCondition('created_at < ?', selection.to.getTime())
  if (after !== undefined)
    addCondition(`(created_at, seq) ${isNewestFirst ? '<' : '>'} (?, ?)`, after.created_at, after.seq)
  if (selection.requested === true) addCondition('replay_requested_at IS NOT NULL')
  if (selection.itemId !== undefined) addCondition('item_id = ?', toColumn(selection.itemId))
  if (selection.ids !== undefined)
    addCondition('dlq_id IN (SELECT value FROM json_each(?))', JSON.stringify(selection.ids.map(toColumn)))
  const direction = isNewestFirst ? 'DESC' : 'ASC'
  const positions = indexScans(selection, now).flatMap((branch) =>
    sql.all<RowPosition>(
      `SELECT created_at, seq FROM dead_letters INDEXED BY ${indexFor(selection)}
        WHERE ${[...branch.conditions, ...conditions].join(' AND ')}
        ORDER BY created_at ${direction}, seq ${direction} LIMIT ?`,
      ...branch.values,
      ...values,
      limit,
    ),
  )
  const sign = isNewestFirst ? -1 : 1
  return positions.sort((a, b) => sign * (a.created_at - b.created_at || a.seq - b.seq)).slice(0, limit)
}
