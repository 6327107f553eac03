import type { QualifyTable } from './parameters.js'

export function valueStatements(tableName: QualifyTable) {
  const table = tableName('named_values')
  return {
    select: `SELECT value FROM ${table} WHERE id = $1`,
    /** Selects values by a list of ids. */
    selectMany: `SELECT replace(id::text, '-', '') AS id, value FROM ${table} WHERE id = ANY($1::uuid[])`,
    selectByPrefix: `SELECT key, value FROM ${table} WHERE starts_with(key, $1)`,
    upsert: `INSERT INTO ${table} (id, key, value) VALUES ($1, $2, $3)
      ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
    /** Values: arrays of id, key and value. */
    upsertMany: `INSERT INTO ${table} (id, key, value) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[])
      ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
    delete: `DELETE FROM ${table} WHERE id = $1`,
    /** Deletes values by a list of ids. */
    deleteMany: `DELETE FROM ${table} WHERE id = ANY($1::uuid[])`,
  }
}
