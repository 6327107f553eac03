import type { QualifyTable } from './parameters.js'

export function metricsStatements(tableName: QualifyTable) {
  const table = tableName('metrics')
  return {
    /** Values: arrays of start, key, series, node and data. */
    upsert: `INSERT INTO ${table} (start, key, series, node, data)
      SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[])
      ON CONFLICT (start, key) DO UPDATE SET data = excluded.data`,
    /** Values: the range of the start, and the prefix of the series. */
    select: `SELECT series, start, node, data FROM ${table}
      WHERE start >= $1 AND start < $2 AND starts_with(series, $3) ORDER BY start`,
    deleteOld: `DELETE FROM ${table} WHERE start < $1`,
  }
}
