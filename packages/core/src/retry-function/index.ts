export type { RetryFunctionOptions } from './options.js'
export { type RetryAttempt, retry } from './retry.js'
