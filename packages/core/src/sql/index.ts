export { isTransientSqlError } from './transient.js'
