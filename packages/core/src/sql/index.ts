export type { TransactionOptions } from './options.js'
export type { ClientOf, TransactionClient, TransactionPool } from './pool.js'
export { isTransientSqlError } from './transient.js'
export { withTransaction } from './with-transaction.js'
