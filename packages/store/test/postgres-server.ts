export { PostgresServer } from '../../../scripts/servers/postgres.mjs'
export { LONG_TIMEOUTS } from './long-timeouts.js'
