export { PostgresServer } from '../../../scripts/servers/postgres.mjs'
