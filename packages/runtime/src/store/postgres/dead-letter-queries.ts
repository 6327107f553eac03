import type { DeadLetterStatus } from '../../records/dead-letter.js'
import type { Query } from '../dead-letter-index.js'
import { toColumn } from '../text.js'
import type { Value } from './driver.js'
import { hashed } from './names.js'

/** Which entries are wanted, by their status as it counts now: one whose lease ended counts as pending. */
export interface Wanted extends Query {
  /** Leaves out what somebody holds. */
  free?: boolean | undefined
  /** Ids to pass over. */
  except?: ReadonlySet<string> | undefined
}

/** An entry's place in a list: by age, then in the order of adding. */
export interface Place {
  created_at: string | number
  seq: string | number
}

const ALL: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Collects the values of a statement, and gives the name of each. */
export class Values {
  readonly list: Value[] = []

  add(value: Value): string {
    return `$${this.list.push(value)}`
  }
}

/** What a stored status must be, one condition for each run through an index. */
function standings({ statuses = ALL, free = false }: Wanted, now: string): string[] {
  const held = statuses.includes('replaying') && !free
  const ended = statuses.includes('pending')
  const conditions = ALL.filter((status) => status !== 'replaying' && statuses.includes(status)).map(
    (status) => `status = '${status}'`,
  )
  if (held && ended) conditions.push("status = 'replaying'")
  else if (held) conditions.push(`status = 'replaying' AND leased_until > ${now}`)
  else if (ended) conditions.push(`status = 'replaying' AND leased_until <= ${now}`)
  return conditions
}

/** What must hold besides the status. */
function conditionsOf(wanted: Wanted, values: Values): string[] {
  const conditions: string[] = []
  const { from, to, itemId, ids, except, operations } = wanted
  if (operations !== undefined)
    conditions.push(
      operations.length === 1
        ? `operation = ${values.add(hashed(operations[0] as string))}::uuid`
        : `operation = ANY(${values.add(operations.map(hashed))}::uuid[])`,
    )
  if (from !== undefined) conditions.push(`created_at >= ${values.add(from.getTime())}`)
  if (to !== undefined) conditions.push(`created_at < ${values.add(to.getTime())}`)
  if (wanted.requested === true) conditions.push('replay_requested_at IS NOT NULL')
  if (itemId !== undefined) conditions.push(`item_id = ${values.add(toColumn(itemId))}`)
  if (ids !== undefined) conditions.push(`id = ANY(${values.add(ids.map(hashed))}::uuid[])`)
  if (except !== undefined && except.size > 0)
    conditions.push(`id <> ALL(${values.add([...except].map(hashed))}::uuid[])`)
  return conditions
}

/** The statement for the places of those that fit, in order. Each status is a run through an index of its own. */
export function placesOf(
  table: string,
  wanted: Wanted,
  now: number,
  page: { newest: boolean; after?: Place | undefined; limit: number },
): { text: string; values: Value[] } | undefined {
  const values = new Values()
  const { newest, after, limit } = page
  const branches = standings(wanted, `${now}::bigint`)
  if (branches.length === 0) return undefined
  const conditions = conditionsOf(wanted, values)
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
export function freeOnes(
  table: string,
  wanted: Wanted,
  now: number,
  limit: number,
  values: Values,
): string | undefined {
  const branches = standings({ ...wanted, free: true }, `${now}::bigint`)
  if (branches.length === 0) return undefined
  const conditions = ["status <> 'completed'", `(${branches.join(' OR ')})`, ...conditionsOf(wanted, values)]
  return `SELECT seq, operation, operation_type, status FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY created_at, seq LIMIT ${limit} FOR UPDATE SKIP LOCKED`
}
