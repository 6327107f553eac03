export const SELECT_LAYERS = 'SELECT * FROM config_layers ORDER BY version DESC'

export const SELECT_LATEST_LAYER = `${SELECT_LAYERS} LIMIT 1`

export const SELECT_LATEST_VERSION = 'SELECT max(version) AS version FROM config_layers'

/** Values: version, changed_by, reason, at, layer. */
export const INSERT_LAYER = 'INSERT INTO config_layers VALUES (?, ?, ?, ?, ?)'

export const DELETE_OLD_LAYERS =
  'DELETE FROM config_layers WHERE version <= (SELECT max(version) FROM config_layers) - ?'

export const UPDATE_LAYER = 'UPDATE config_layers SET layer = ? WHERE version = ?'
