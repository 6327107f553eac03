import type { DeadLetterStatus } from '../../records/dead-letter.js'
import type { Query } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { Connection } from './connection.js'
import type { Value } from './driver.js'

/** Which entries are wanted, by their status as it counts now: one whose lease ended counts as pending. */
export interface Wanted extends Query {
  /** Leaves out what somebody holds. */
  free?: boolean | undefined
}

/** An entry's place in a list: by age, then in the order of adding. */
export interface Place {
  created_at: number
  seq: number
}

/** A run through an index in which entries lie in order of age. */
interface Branch {
  conditions: string[]
  values: Value[]
}

const ALL: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Entries stored as `replaying` count as pending once their lease has ended. */
function branchesOfStatuses({ statuses = ALL, free = false }: Wanted, now: number): Branch[] {
  const held = statuses.includes('replaying') && !free
  const ended = statuses.includes('pending')
  const stored = ALL.filter((status) => status !== 'replaying' && statuses.includes(status))
  const branches: Branch[] = stored.map((status) => ({ conditions: ['status = ?'], values: [status] }))
  if (held && ended) branches.push({ conditions: ["status = 'replaying'"], values: [] })
  else if (held) branches.push({ conditions: ["status = 'replaying'", 'leased_until > ?'], values: [now] })
  else if (ended) branches.push({ conditions: ["status = 'replaying'", 'leased_until <= ?'], values: [now] })
  return branches
}

function branchesOf(wanted: Wanted, now: number): Branch[] {
  const branches = branchesOfStatuses(wanted, now)
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
function indexFor({ ids, requested, operations }: Wanted): string {
  if (ids !== undefined) return 'sqlite_autoindex_dead_letters_1'
  if (requested === true) return 'dead_letters_requested'
  return operations === undefined ? 'dead_letters_by_status' : 'dead_letters_by_operation'
}

/**
 * The places of those that fit, in order, beyond one where it is given; `limit` of them at the most. Each run through
 * an index gives that many, and the first of all are the answer.
 */
export function select(
  sql: Connection,
  wanted: Wanted,
  now: number,
  page: { newest: boolean; after?: Place | undefined; limit: number },
): Place[] {
  const { newest, after, limit } = page
  const conditions: string[] = []
  const values: Value[] = []
  const also = (condition: string, ...held: Value[]) => {
    conditions.push(condition)
    values.push(...held)
  }
  if (wanted.from !== undefined) also('created_at >= ?', wanted.from.getTime())
  if (wanted.to !== undefined) also('created_at < ?', wanted.to.getTime())
  if (after !== undefined) also(`(created_at, seq) ${newest ? '<' : '>'} (?, ?)`, after.created_at, after.seq)
  if (wanted.requested === true) also('replay_requested_at IS NOT NULL')
  if (wanted.itemId !== undefined) also('item_id = ?', toColumn(wanted.itemId))
  if (wanted.ids !== undefined)
    also('dlq_id IN (SELECT value FROM json_each(?))', JSON.stringify(wanted.ids.map(toColumn)))
  const direction = newest ? 'DESC' : 'ASC'
  const places = branchesOf(wanted, now).flatMap((branch) =>
    sql.all<Place>(
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
