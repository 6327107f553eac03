// Every record by its schema, type and codec: what `@holdfast/runtime` exports of them.
export * from './breaker.js'
export * from './dead-letter.js'
export * from './errors.js'
export * from './metrics.js'
export * from './policy.js'
export * from './responses.js'
export * from './session.js'
