import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterQuery } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { PostgresValue } from './driver.js'
import { hashName } from './names.js'

/** Selects entries by their status at a time: an entry with an expired lease is pending. */
export interface DeadLetterSelection extends DeadLetterQuery {
  /** Only entries that are not leased. */
  isUnleased?: boolean | undefined
  /** Ids to skip. */
  except?: ReadonlySet<string> | undefined
}

/** The position of an entry in a list: by age, then by order of insertion. */
export interface RowPosition {
  created_at: string | number
  seq: string | number
}

const ALL_STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Collects the values of a statement, and returns the placeholder of each. */
export class StatementValues {
  readonly list: PostgresValue[] = []

  add(value: PostgresValue): string {
    return `$${this.list.push(value)}`
  }
}

/** The conditions for the selected statuses, one per index scan. Entries stored as `replaying` may have an expired lease. */
function statusConditions(
  { statuses = ALL_STATUSES, isUnleased = false }: DeadLetterSelection,
  now: string,
): string[] {
  const includesLeased = statuses.includes('replaying') && !isUnleased
  const includesExpired = statuses.includes('pending')
  const conditions = ALL_STATUSES.filter((status) => status !== 'replaying' && statuses.includes(status)).map(
    (status) => `status = '${status}'`,
  )
  if (includesLeased && includesExpired) conditions.push("status = 'replaying'")
  else if (includesLeased) conditions.push(`status = 'replaying' AND leased_until > ${now}`)
  else if (includesExpired) conditions.push(`status = 'replaying' AND leased_until <= ${now}`)
  return conditions
}

/** The conditions besides the status. */
function toConditions(selection: DeadLetterSelection, values: StatementValues): string[] {
  const conditions: string[] = []
  const { from, to, itemId, ids, except, operations } = selection
  if (operations !== undefined)
    conditions.push(
      operations.length === 1
        ? `operation = ${values.add(hashName(operations[0] as string))}::uuid`
        : `operation = ANY(${values.add(operations.map(hashName))}::uuid[])`,
    )
  if (from !== undefined) conditions.push(`created_at >= ${values.add(from.getTime())}`)
  if (to !== undefined) conditions.push(`created_at < ${values.add(to.getTime())}`)
  if (selection.requested === true) conditions.push('replay_requested_at IS NOT NULL')
  if (itemId !== undefined) conditions.push(`item_id = ${values.add(toColumn(itemId))}`)
  if (ids !== undefined) conditions.push(`id = ANY(${values.add(ids.map(hashName))}::uuid[])`)
  if (except !== undefined && except.size > 0)
    conditions.push(`id <> ALL(${values.add([...except].map(hashName))}::uuid[])`)
  return conditions
}

/** The statement for the positions of matching entries, in order. Each status is a separate index scan. */
export function selectPositions(
  table: string,
  selection: DeadLetterSelection,
  now: number,
  page: { isNewestFirst: boolean; after?: RowPosition | undefined; limit: number },
): { text: string; values: PostgresValue[] } | undefined {
  const values = new StatementValues()
  const { isNewestFirst, after, limit } = page
  const scans = statusConditions(selection, `${now}::bigint`)
  if (scans.length === 0) return undefined
  const conditions = toConditions(selection, values)
  if (after !== undefined)
    conditions.push(
      `(created_at, seq) ${isNewestFirst ? '<' : '>'} (${values.add(after.created_at)}::bigint, ${values.add(after.seq)}::bigint)`,
    )
  const order = isNewestFirst ? 'ORDER BY created_at DESC, seq DESC' : 'ORDER BY created_at, seq'
  const selects = scans.map(
    (scan) =>
      `(SELECT created_at, seq FROM ${table} WHERE ${[scan, ...conditions].join(' AND ')} ${order} LIMIT ${limit})`,
  )
  return {
    text: `SELECT created_at, seq FROM (${selects.join(' UNION ALL ')}) AS runs ${order} LIMIT ${limit}`,
    values: values.list,
  }
}

/**
 * The statement that locks the oldest matching entries that can be leased, without those that another transaction is leasing. It
 * scans the entries that are not completed, in order of age.
 */
export function selectLeasable(
  table: string,
  selection: DeadLetterSelection,
  now: number,
  limit: number,
  values: StatementValues,
): string | undefined {
  const scans = statusConditions({ ...selection, isUnleased: true }, `${now}::bigint`)
  if (scans.length === 0) return undefined
  const conditions = ["status <> 'completed'", `(${scans.join(' OR ')})`, ...toConditions(selection, values)]
  return `SELECT seq, operation, operation_type, status FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY created_at, seq LIMIT ${limit} FOR UPDATE SKIP LOCKED`
}
