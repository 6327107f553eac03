import { placeholders } from './parameters.js'

export const replaceBreaker = (columns: readonly string[]): string =>
  `INSERT OR REPLACE INTO circuit_breaker_states (${columns.join(', ')}) VALUES (${placeholders(columns.length)})`

export const SELECT_BREAKERS = 'SELECT * FROM circuit_breaker_states ORDER BY rowid'

export const DELETE_BREAKER = 'DELETE FROM circuit_breaker_states WHERE id = ?'
