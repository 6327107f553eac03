import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterQuery } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { PostgresValue } from './driver.js'
import { hashName } from './names.js'

/** Which entries are wanted, by their status as it counts now: one whose lease ended counts as pending. */
export interface DeadLetterSelection extends DeadLetterQuery {
  /** Leaves out what somebody holds. */
  isUnleased?: boolean | undefined
  /** Ids to pass over. */
  except?: ReadonlySet<string> | undefined
}

/** An entry's place in a list: by age, then in the order of adding. */
export interface RowPosition {
  created_at: string | number
  seq: string | number
}

const ALL_STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Collects the values of a statement, and gives the name of each. */
export class StatementValues {
  readonly list: PostgresValue[] = []

  add(value: PostgresValue): string {
    return `$${this.list.push(value)}`
  }
}

/** What a stored status must be, one condition for each run through an index. */
function statusConditions(
  { statuses = ALL_STATUSES, isUnleased = false }: DeadLetterSelection,
  now: string,
): string[] {
  const stored = statuses.includes('replaying') && !isUnleased
  const ended = statuses.includes('pending')
  const conditions = ALL_STATUSES.filter((status) => status !== 'replaying' && statuses.includes(status)).map(
    (status) => `status = '${status}'`,
  )
  if (stored && ended) conditions.push("status = 'replaying'")
  else if (stored) conditions.push(`status = 'replaying' AND leased_until > ${now}`)
  else if (ended) conditions.push(`status = 'replaying' AND leased_until <= ${now}`)
  return conditions
}

/** What must hold besides the status. */
function toConditions(wanted: DeadLetterSelection, values: StatementValues): string[] {
  const conditions: string[] = []
  const { from, to, itemId, ids, except, operations } = wanted
  if (operations !== undefined)
    conditions.push(
      operations.length === 1
        ? `operation = ${values.add(hashName(operations[0] as string))}::uuid`
        : `operation = ANY(${values.add(operations.map(hashName))}::uuid[])`,
    )
  if (from !== undefined) conditions.push(`created_at >= ${values.add(from.getTime())}`)
  if (to !== undefined) conditions.push(`created_at < ${values.add(to.getTime())}`)
  if (wanted.requested === true) conditions.push('replay_requested_at IS NOT NULL')
  if (itemId !== undefined) conditions.push(`item_id = ${values.add(toColumn(itemId))}`)
  if (ids !== undefined) conditions.push(`id = ANY(${values.add(ids.map(hashName))}::uuid[])`)
  if (except !== undefined && except.size > 0)
    conditions.push(`id <> ALL(${values.add([...except].map(hashName))}::uuid[])`)
  return conditions
}

/** The statement for the places of those that fit, in order. Each status is a run through an index of its own. */
export function selectPositions(
  table: string,
  wanted: DeadLetterSelection,
  now: number,
  page: { newest: boolean; after?: RowPosition | undefined; limit: number },
): { text: string; values: PostgresValue[] } | undefined {
  const values = new StatementValues()
  const { newest, after, limit } = page
  const branches = statusConditions(wanted, `${now}::bigint`)
  if (branches.length === 0) return undefined
  const conditions = toConditions(wanted, values)
  if (after !== undefined)
    conditions.push(
      `(created_at, seq) ${newest ? '<' : '>'} (${values.add(after.created_at)}::bigint, ${values.add(after.seq)}::bigint)`,
    )
  const order = newest ? 'ORDER BY created_at DESC, seq DESC' : 'ORDER BY created_at, seq'
  const selects = branches.map(
    (branch) =>
      `(SELECT created_at, seq FROM ${table} WHERE ${[branch, ...conditions].join(' AND ')} ${order} LIMIT ${limit})`,
  )
  return {
    text: `SELECT created_at, seq FROM (${selects.join(' UNION ALL ')}) AS runs ${order} LIMIT ${limit}`,
    values: values.list,
  }
}

/**
 * The statement for those to be leased: the oldest that fit and that nobody else is about to take, locked. It runs through
 * what is not completed, in order of age.
 */
export function selectLeasable(
  table: string,
  wanted: DeadLetterSelection,
  now: number,
  limit: number,
  values: StatementValues,
): string | undefined {
  const branches = statusConditions({ ...wanted, isUnleased: true }, `${now}::bigint`)
  if (branches.length === 0) return undefined
  const conditions = ["status <> 'completed'", `(${branches.join(' OR ')})`, ...toConditions(wanted, values)]
  return `SELECT seq, operation, operation_type, status FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY created_at, seq LIMIT ${limit} FOR UPDATE SKIP LOCKED`
}
