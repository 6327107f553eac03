export type { KnexInstance } from './types.js'
export { withTransaction } from './with-transaction.js'
