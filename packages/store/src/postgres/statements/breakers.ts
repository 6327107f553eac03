import type { QualifyTable } from './parameters.js'

export function breakerStatements(tableName: QualifyTable) {
  const table = tableName('circuit_breaker_states')
  return {
    /** Values: arrays of key, id, state, updated_at and body. */
    upsert: `INSERT INTO ${table} (key, id, state, updated_at, body)
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
      ON CONFLICT (key) DO UPDATE SET (state, updated_at, body) = (excluded.state, excluded.updated_at, excluded.body)`,
    selectAll: `SELECT id, body FROM ${table} ORDER BY key`,
    delete: `DELETE FROM ${table} WHERE key = ANY($1::uuid[])`,
  }
}
