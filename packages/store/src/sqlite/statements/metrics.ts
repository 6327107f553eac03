/** How many rows are written, read or deleted before the event loop gets a turn. */
export const METRICS_BATCH_SIZE = 500

/** Values: series, start, node, data. */
export const UPSERT_METRICS_ROW = `INSERT INTO metrics VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET data = excluded.data`

/** Rows of a range after a given row, sorted by key. */
export const SELECT_METRICS = `SELECT * FROM metrics
  WHERE (series, start, node) > (?, ?, ?) AND series < ? AND start >= ? AND start < ?
  ORDER BY series, start, node LIMIT ${METRICS_BATCH_SIZE}`

export const DELETE_OLD_METRICS = `DELETE FROM metrics WHERE (series, start, node) IN
  (SELECT series, start, node FROM metrics WHERE start < ? ORDER BY start LIMIT ${METRICS_BATCH_SIZE})`
