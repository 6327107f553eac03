import { DEAD_LETTER_STATUSES, deadLetterCodec } from '@holdfast/records'
import {
  COMMON_CHANGING_COLUMNS,
  COMMON_FIXED_COLUMNS,
  type DeadLetterColumns,
} from '../../dead-letter-columns.js'
import { type RowSelection, statusScans } from '../../dead-letter-selection.js'
import { serializePayload } from '../../payload.js'
import { hashName, toColumn } from '../../text.js'
import { arrayParameters, type PostgresValue, type QualifyTable, StatementValues } from './parameters.js'

/** How many rows the count of an operation and status is split into. */
const COUNT_SHARDS = 8

/** Columns that change with a replay, an edit or a key rotation. */
export const CHANGING_COLUMNS = {
  ...COMMON_CHANGING_COLUMNS,
  last_attempt: { type: 'bigint', value: (entry) => entry.lastAttempt.getTime() },
  replayed_at: { type: 'bigint', value: (entry) => entry.replayedAt?.getTime() ?? null },
  /** Null if they have not changed. */
  error_details: {
    type: 'text',
    value: (entry, _, old) =>
      entry.errorDetails === old?.errorDetails
        ? null
        : JSON.stringify(deadLetterCodec.encode(entry).error_details),
  },
  /** Null if it has not changed. */
  original_payload: {
    type: 'text',
    value: (entry, _, old) =>
      old !== undefined && entry.originalPayload === old.originalPayload
        ? null
        : serializePayload(entry.originalPayload),
  },
  /** Null if it has not changed. The text `null` means that the edited payload was removed. */
  edited_payload: {
    type: 'text',
    value: (entry, _, old) =>
      entry.editedPayload === old?.editedPayload ? null : serializePayload(entry.editedPayload ?? null),
  },
} as const satisfies DeadLetterColumns

/** All columns except for the number of the entry and its last change. */
export const COLUMNS = {
  /** Hashes of the id, the idempotency key and the operation. */
  id: { type: 'uuid', value: (entry) => hashName(entry.dlqId) },
  key: { type: 'uuid', value: (entry) => hashName(entry.idempotencyKey) },
  operation: { type: 'uuid', value: (entry) => hashName(entry.operationType) },
  ...COMMON_FIXED_COLUMNS,
  ...CHANGING_COLUMNS,
  /** The other fields, as JSON. */
  rest: {
    type: 'text',
    value(entry) {
      const wire: Record<string, unknown> = deadLetterCodec.encode({ ...entry, originalPayload: undefined })
      // The wire form is a copy and can be changed.
      delete wire.processed
      for (const name of OWN_COLUMNS) delete wire[name]
      return JSON.stringify(wire)
    },
  },
} as const satisfies DeadLetterColumns

/** Fields with a column of their own. */
const OWN_COLUMNS = Object.keys({ ...COMMON_FIXED_COLUMNS, ...CHANGING_COLUMNS })

const NAMES = Object.keys(COLUMNS).join(', ')
const ARRAYS = Object.values(COLUMNS).map(({ type }) => type)
const CHANGING_NAMES = Object.keys(CHANGING_COLUMNS)
const CHANGING_TYPES = Object.values(CHANGING_COLUMNS).map(({ type }) => type)

/** Columns whose value is not sent if it has not changed. */
const SENT_IF_CHANGED: readonly string[] = ['error_details', 'original_payload', 'edited_payload']

const SET_CLAUSE = CHANGING_NAMES.map(
  (name) =>
    `${name} = ${SENT_IF_CHANGED.includes(name) ? `coalesce(given.${name}, stored.${name})` : `given.${name}`}`,
).join(', ')

/** The position of an entry in a list: by age, then by order of insertion. */
export interface RowPosition {
  created_at: string | number
  seq: string | number
}

/** The conditions for the selected statuses, one per index scan. */
const statusConditions = (selection: RowSelection, now: number): string[] =>
  statusScans(selection).map(({ status, lease }) => {
    const condition = `status = '${status}'`
    if (lease === undefined) return condition
    return `${condition} AND leased_until ${lease === 'held' ? '>' : '<='} ${now}::bigint`
  })

/** The conditions besides the status. */
function toConditions(selection: RowSelection, values: StatementValues): string[] {
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

interface Statement {
  text: string
  values: PostgresValue[]
}

/** Statements about dead letters. Ids and keys are hashes, unless a comment says otherwise. */
export function deadLetterStatements(tableName: QualifyTable) {
  const table = tableName('dead_letters')
  const countTable = tableName('dead_letter_counts')
  const processedTable = tableName('processed_ids')
  const valueTable = tableName('named_values')

  /**
   * The part of a statement that updates the counts: `changes` selects rows of operation, operation_type, status and n. Rows are
   * always updated in the same order, so that two transactions do not deadlock.
   */
  const updateCounts = (changes: string): string => `
    INSERT INTO ${countTable} AS counts (operation, status, shard, operation_type, entries)
      SELECT operation, status, pg_backend_pid() % ${COUNT_SHARDS}, min(operation_type), sum(n)
        FROM (${changes}) AS changes GROUP BY operation, status HAVING sum(n) <> 0 ORDER BY operation, status
      ON CONFLICT (operation, status, shard) DO UPDATE SET entries = counts.entries + excluded.entries`

  /** The part of a statement that records completed entries. */
  const insertProcessed = (changed: string): string => `
    INSERT INTO ${processedTable}
      SELECT id, dlq_id, coalesce(replayed_at, last_attempt) FROM ${changed} WHERE status = 'completed'
      ON CONFLICT DO NOTHING`

  /** Selects the positions of matching entries, in order. Each status is a separate index scan. `conditions` are those of all scans. */
  function selectPositions(
    selection: RowSelection,
    now: number,
    page: { isNewestFirst: boolean; after?: RowPosition | undefined; limit: number },
  ): (Statement & { conditions: string }) | undefined {
    const values = new StatementValues()
    const { isNewestFirst, after, limit } = page
    const scans = statusConditions(selection, now)
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
      conditions: [`(${scans.join(' OR ')})`, ...conditions].join(' AND '),
    }
  }

  return {
    select: `SELECT * FROM ${table} WHERE id = $1`,
    exists: `SELECT 1 FROM ${table} WHERE id = $1`,
    /** Selects the ids of a list that have an entry. */
    selectStored: `SELECT replace(id::text, '-', '') AS id FROM ${table} WHERE id = ANY($1::uuid[])`,
    /** Always in the same order, so that two transactions with the same entries do not deadlock. */
    selectForUpdate: `SELECT * FROM ${table} WHERE id = ANY($1::uuid[]) ORDER BY seq FOR UPDATE`,
    /** Selects entries by lists of ids and keys. */
    selectExisting: `SELECT *, replace(id::text, '-', '') AS hex, replace(key::text, '-', '') AS key
      FROM ${table} WHERE id = ANY($1::uuid[]) OR key = ANY($2::uuid[])`,
    /**
     * Whether a change was committed: another process may have changed some of its entries since. Values: the numbers of the
     * entries and the token of the change.
     */
    hasChange: `SELECT 1 FROM ${table} WHERE seq = ANY($1::bigint[]) AND change = $2 LIMIT 1`,
    /** Whether one of these entries exists. */
    hasAny: `SELECT 1 FROM ${table} WHERE seq = ANY($1::bigint[]) LIMIT 1`,
    /** Entries that a change has leased. */
    selectLeasedBy: `SELECT * FROM ${table} WHERE status = 'replaying' AND change = $1 ORDER BY created_at, seq`,
    selectProcessed: `SELECT replace(id::text, '-', '') AS id FROM ${processedTable} WHERE id = ANY($1::uuid[])`,
    /**
     * Deletes processed ids without entries, and stores the latest time of their completion. Values: the time before which the
     * entries were completed, and the id and key of the named value.
     */
    deleteProcessed: `WITH deleted AS (
        DELETE FROM ${processedTable} AS processed WHERE completed_at < $1
          AND NOT EXISTS (SELECT 1 FROM ${table} AS stored WHERE stored.id = processed.id)
          RETURNING completed_at
      ), latest AS (
        INSERT INTO ${valueTable} AS stored (id, key, value)
          SELECT $2::uuid, $3::text, max(completed_at)::text FROM deleted HAVING count(*) > 0
          ON CONFLICT (id) DO UPDATE SET value = greatest(stored.value::bigint, excluded.value::bigint)::text
      ) SELECT count(*) AS n FROM deleted`,
    /** Values: the id of the named value that {@link deleteProcessed} stores. */
    selectDeletedProcessed: `SELECT value FROM ${valueTable} WHERE id = $1::uuid`,

    countOpen: `SELECT coalesce(sum(entries), 0) AS open FROM ${countTable} WHERE status <> 'completed'`,
    /** Entries with an expired lease are counted as replaying, although they are pending. */
    selectCounts: `SELECT operation_type AS operation, status, sum(entries) AS n FROM ${countTable}
        GROUP BY operation, operation_type, status HAVING sum(entries) <> 0
      UNION ALL
      SELECT operation_type, kind, count(*) * sign FROM ${table}, (VALUES ('replaying', -1), ('pending', 1)) AS moved (kind, sign)
        WHERE status = 'replaying' AND leased_until <= $1 GROUP BY operation_type, kind, sign`,
    selectOldestOpen: `SELECT created_at AS at FROM ${table} WHERE status <> 'completed' ORDER BY created_at, seq LIMIT 1`,

    /** Inserts the entries with a new id and key. Values: the token of the change, and arrays of {@link COLUMNS}. */
    insert: `WITH added AS (
        INSERT INTO ${table} (change, ${NAMES})
          SELECT $1, ${NAMES} FROM unnest(${arrayParameters(ARRAYS, 2)}) WITH ORDINALITY AS given (${NAMES}, place)
          ORDER BY place ON CONFLICT DO NOTHING
          RETURNING id, dlq_id, operation, operation_type, status, last_attempt, replayed_at
      ), counted AS (${updateCounts('SELECT operation, operation_type, status, 1 AS n FROM added')}
      ), processed AS (${insertProcessed('added')}
      ) SELECT replace(id::text, '-', '') AS id FROM added`,

    /**
     * Replaces all entries, or none if one of them was changed meanwhile: the count differs, and the division by zero fails.
     * Values: the token of the change, and arrays of the number, old status, last change and {@link CHANGING_COLUMNS}.
     */
    replace: (count: number): string => `WITH changed AS (
        UPDATE ${table} AS stored SET change = $1, ${SET_CLAUSE}
          FROM unnest($2::bigint[], $3::text[], $4::uuid[], ${arrayParameters(CHANGING_TYPES, 5)})
            AS given (seq, was, known, ${CHANGING_NAMES.join(', ')})
          WHERE stored.seq = given.seq AND stored.change = given.known
          RETURNING id, dlq_id, operation, operation_type, was, stored.status, stored.replayed_at, stored.last_attempt
      ), counted AS (${updateCounts(
        `SELECT operation, operation_type, was AS status, -1 AS n FROM changed
          UNION ALL SELECT operation, operation_type, status, 1 FROM changed`,
      )}
      ), completed AS (${insertProcessed('changed')}
      ) SELECT 1 / (count(*) = ${count})::int FROM changed`,

    /** Counts matching entries with each status; undefined if none can match. */
    count(selection: RowSelection, now: number): Statement | undefined {
      const values = new StatementValues()
      const conditions = toConditions(selection, values)
      const selects = [...new Set(selection.statuses ?? DEAD_LETTER_STATUSES)].map((status) => {
        const scans = statusConditions({ ...selection, statuses: [status] }, now)
        const where = [`(${scans.join(' OR ')})`, ...conditions].join(' AND ')
        return `SELECT '${status}' AS status, count(*) AS n FROM ${table} WHERE ${where}`
      })
      return selects.length === 0 ? undefined : { text: selects.join(' UNION ALL '), values: values.list }
    },

    /** Selects a page of entries; undefined if none can match. */
    selectPage(
      selection: RowSelection,
      now: number,
      page: { isNewestFirst: boolean; after: RowPosition | undefined; limit: number },
    ): Statement | undefined {
      const positions = selectPositions(selection, now, page)
      const direction = page.isNewestFirst ? 'DESC' : 'ASC'
      return (
        positions && {
          text: `SELECT stored.* FROM (${positions.text}) AS positions JOIN ${table} AS stored USING (seq)
            ORDER BY stored.created_at ${direction}, stored.seq ${direction}`,
          values: positions.values,
        }
      )
    },

    /**
     * Leases the oldest matching entries, without those that another transaction is leasing; undefined if none can match. It
     * scans the entries that are not completed, in order of age.
     */
    lease(
      selection: RowSelection,
      now: number,
      limit: number,
      lease: { owner: string; until: number; token: string },
    ): Statement | undefined {
      const scans = statusConditions({ ...selection, isUnleased: true }, now)
      if (scans.length === 0) return undefined
      const values = new StatementValues()
      const conditions = [
        "status <> 'completed'",
        `(${scans.join(' OR ')})`,
        ...toConditions(selection, values),
      ]
      const text = `WITH free AS MATERIALIZED (
          SELECT seq, operation, operation_type, status FROM ${table} WHERE ${conditions.join(' AND ')}
            ORDER BY created_at, seq LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ), taken AS (
          UPDATE ${table} AS stored SET status = 'replaying', leased_until = ${lease.until},
              lease_owner = ${values.add(toColumn(lease.owner))}, change = ${values.add(lease.token)}
            FROM free WHERE stored.seq = free.seq RETURNING stored.*
        ), counted AS (${updateCounts(
          `SELECT operation, operation_type, status, -1 AS n FROM free
            UNION ALL SELECT operation, operation_type, 'replaying', 1 FROM free`,
        )}
        ) SELECT * FROM taken ORDER BY created_at, seq`
      return { text, values: values.list }
    },

    /**
     * Deletes a number of matching entries that are not leased; undefined if none can match. Selects the numbers of all entries that it
     * has found, and whether each was deleted: another transaction may have changed or deleted it meanwhile. The locked versions are
     * therefore checked again, after the search by number, because an index for the conditions would find all matching entries.
     */
    purge(
      selection: RowSelection,
      now: number,
      page: { isNewestFirst: boolean; limit: number },
    ): Statement | undefined {
      const positions = selectPositions({ ...selection, isUnleased: true }, now, page)
      return (
        positions && {
          text: `WITH found AS MATERIALIZED (SELECT seq FROM (${positions.text}) AS positions
            ), locked AS MATERIALIZED (
              SELECT * FROM ${table} WHERE seq IN (SELECT seq FROM found) ORDER BY seq FOR UPDATE
            ), deleted AS (
              DELETE FROM ${table} AS stored USING (SELECT seq FROM locked WHERE ${positions.conditions}) AS matching
                WHERE stored.seq = matching.seq
                RETURNING stored.seq, operation, operation_type, status
            ), counted AS (${updateCounts('SELECT operation, operation_type, status, -1 AS n FROM deleted')}
            ) SELECT seq, deleted.seq IS NOT NULL AS is_deleted FROM found LEFT JOIN deleted USING (seq)`,
          values: positions.values,
        }
      )
    },
  }
}
