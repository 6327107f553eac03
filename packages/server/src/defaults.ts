/** The port of a server where neither the options nor the config file have one. */
export const DEFAULT_PORT = 8000

/** The store of a config file without `store`. */
export const DEFAULT_STORE = 'sqlite:data/holdfast.db'
