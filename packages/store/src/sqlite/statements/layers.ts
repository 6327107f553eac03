export const SELECT_LAYERS = 'SELECT * FROM config_layers ORDER BY version DESC'

/** The newest version before another one. */
export const SELECT_LAYER_BEFORE =
  'SELECT * FROM config_layers WHERE version < ? ORDER BY version DESC LIMIT 1'

export const DELETE_LAYERS_AFTER = 'DELETE FROM config_layers WHERE version > ?'

/** Values: version, changed_by, reason, at, layer. */
export const INSERT_LAYER = 'INSERT INTO config_layers VALUES (?, ?, ?, ?, ?)'

export const DELETE_OLD_LAYERS =
  'DELETE FROM config_layers WHERE version <= (SELECT max(version) FROM config_layers) - ?'

export const UPDATE_LAYER = 'UPDATE config_layers SET layer = ? WHERE version = ?'
