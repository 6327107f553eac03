import type { QualifyTable } from './parameters.js'

export function layerStatements(tableName: QualifyTable) {
  const table = tableName('config_layers')
  const selectAll = `SELECT * FROM ${table} ORDER BY version DESC`
  return {
    selectAll,
    selectLatest: `${selectAll} LIMIT 1`,
    /** Inserts a version if it is one above the newest. Values: version, changed_by, reason, at, layer. */
    insert: `INSERT INTO ${table} (version, changed_by, reason, at, layer) SELECT $1, $2, $3, $4, $5
      WHERE coalesce((SELECT max(version) FROM ${table}), 0) = $1 - 1 ON CONFLICT DO NOTHING`,
    /** Values: version, changed_by, at, layer. */
    deleteOne: `DELETE FROM ${table} WHERE version = $1 AND changed_by = $2 AND at = $3 AND layer = $4`,
    /** Values: version, changed_by, at, layer. */
    exists: `SELECT 1 FROM ${table} WHERE version = $1 AND changed_by = $2 AND at = $3 AND layer = $4`,
    deleteOld: `DELETE FROM ${table} WHERE version <= (SELECT max(version) FROM ${table}) - $1`,
    update: `UPDATE ${table} SET layer = $2 WHERE version = $1`,
  }
}
