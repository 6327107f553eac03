export const SELECT_VALUE = 'SELECT key, value FROM named_values WHERE key = ?'

export const UPSERT_VALUE =
  'INSERT INTO named_values VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value'

export const DELETE_VALUE = 'DELETE FROM named_values WHERE key = ?'

/** Both parameters are the prefix. */
export const SELECT_VALUES_BY_PREFIX =
  'SELECT key, value FROM named_values WHERE substr(key, 1, length(?)) = ?'
