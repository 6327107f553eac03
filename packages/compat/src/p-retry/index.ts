// The API of p-retry 7.0.0.
export { AbortError } from './abort-error.js'
export type { Options, RetryContext } from './options.js'
export { makeRetriable, pRetry as default } from './retry.js'
