export { type DrizzleDatabase, withTransaction } from './with-transaction.js'
