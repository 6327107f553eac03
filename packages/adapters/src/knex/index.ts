export type { KnexClient, KnexConnection, KnexInstance } from './types.js'
export { withTransaction } from './with-transaction.js'
