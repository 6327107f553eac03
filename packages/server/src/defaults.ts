import { CONFIG_DEFAULTS } from '@holdfast/config'

/** The port of a server where neither the options nor the config file have one. */
export const DEFAULT_PORT = CONFIG_DEFAULTS.server.port

/** The store of a config file without `store`. */
export const DEFAULT_STORE = CONFIG_DEFAULTS.store
