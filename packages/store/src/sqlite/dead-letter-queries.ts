import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterQuery } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import type { SqliteValue } from './driver.js'

/** Which entries are wanted, by their status as it counts now: one whose lease ended counts as pending. */
export interface DeadLetterSelection extends DeadLetterQuery {
  /** Leaves out what somebody holds. */
  isUnleased?: boolean | undefined
}

/** An entry's place in a list: by age, then in the order of adding. */
export interface RowPosition {
  created_at: number
  seq: number
}

/** A run through an index in which entries lie in order of age. */
interface IndexScan {
  conditions: string[]
  values: SqliteValue[]
}

const ALL_STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Entries stored as `replaying` count as pending once their lease has ended. */
function statusScans(
  { statuses = ALL_STATUSES, isUnleased = false }: DeadLetterSelection,
  now: number,
): IndexScan[] {
  const includesLeased = statuses.includes('replaying') && !isUnleased
  const ended = statuses.includes('pending')
  const stored = ALL_STATUSES.filter((status) => status !== 'replaying' && statuses.includes(status))
  const branches: IndexScan[] = stored.map((status) => ({ conditions: ['status = ?'], values: [status] }))
  if (includesLeased && ended) branches.push({ conditions: ["status = 'replaying'"], values: [] })
  else if (includesLeased)
    branches.push({ conditions: ["status = 'replaying'", 'leased_until > ?'], values: [now] })
  else if (ended) branches.push({ conditions: ["status = 'replaying'", 'leased_until <= ?'], values: [now] })
  return branches
}

function indexScans(wanted: DeadLetterSelection, now: number): IndexScan[] {
  const branches = statusScans(wanted, now)
  const { operations } = wanted
  if (operations === undefined) return branches
  return [...new Set(operations)].flatMap((operation) =>
    branches.map(({ conditions, values }) => ({
      conditions: ['operation_type = ?', ...conditions],
      values: [toColumn(operation), ...values],
    })),
  )
}

/** Where few are wanted, they are looked up; else they are run through in order of age. */
function indexFor({ ids, requested, operations }: DeadLetterSelection): string {
  if (ids !== undefined) return 'sqlite_autoindex_dead_letters_1'
  if (requested === true) return 'dead_letters_requested'
  return operations === undefined ? 'dead_letters_by_status' : 'dead_letters_by_operation'
}

/**
 * The places of those that fit, in order, beyond one where it is given; `limit` of them at the most. Each run through
 * an index gives that many, and the first of all are the answer.
 */
export function selectPositions(
  sql: SqliteConnection,
  wanted: DeadLetterSelection,
  now: number,
  page: { newest: boolean; after?: RowPosition | undefined; limit: number },
): RowPosition[] {
  const { newest, after, limit } = page
  const conditions: string[] = []
  const values: SqliteValue[] = []
  const addCondition = (condition: string, ...stored: SqliteValue[]) => {
    conditions.push(condition)
    values.push(...stored)
  }
  if (wanted.from !== undefined) addCondition('created_at >= ?', wanted.from.getTime())
  if (wanted.to !== undefined) addCondition('created_at < ?', wanted.to.getTime())
  if (after !== undefined)
    addCondition(`(created_at, seq) ${newest ? '<' : '>'} (?, ?)`, after.created_at, after.seq)
  if (wanted.requested === true) addCondition('replay_requested_at IS NOT NULL')
  if (wanted.itemId !== undefined) addCondition('item_id = ?', toColumn(wanted.itemId))
  if (wanted.ids !== undefined)
    addCondition('dlq_id IN (SELECT value FROM json_each(?))', JSON.stringify(wanted.ids.map(toColumn)))
  const direction = newest ? 'DESC' : 'ASC'
  const places = indexScans(wanted, now).flatMap((branch) =>
    sql.all<RowPosition>(
      `SELECT created_at, seq FROM dead_letters INDEXED BY ${indexFor(wanted)}
        WHERE ${[...branch.conditions, ...conditions].join(' AND ')}
        ORDER BY created_at ${direction}, seq ${direction} LIMIT ?`,
      ...branch.values,
      ...values,
      limit,
    ),
  )
  const sign = newest ? -1 : 1
  return places.sort((a, b) => sign * (a.created_at - b.created_at || a.seq - b.seq)).slice(0, limit)
}
