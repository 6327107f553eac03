import CircuitBreaker from 'opossum'
import pRetry from 'p-retry'
import { ATTEMPT_TIMEOUT, OPEN_FOR, RETRIES, TOTAL_TIMEOUT, WINDOW } from './settings.mjs'

const window = { rollingCountTimeout: WINDOW, rollingCountBuckets: 10, resetTimeout: OPEN_FOR }

/** p-retry copies its options, so that one object serves all calls. */
export function retryAndBreaker(/** @type {import('../work.mjs').Work} */ fn) {
  const breaker = new CircuitBreaker(fn, { ...window, timeout: false })
  const options = { retries: RETRIES }
  const fire = () => breaker.fire()
  return () => pRetry(fire, options)
}

/** p-retry has no timer for all attempts together; it looks at the time between them. */
export function withTimeouts(/** @type {import('../work.mjs').Work} */ fn) {
  const breaker = new CircuitBreaker(fn, { ...window, timeout: ATTEMPT_TIMEOUT })
  const options = { retries: RETRIES, maxRetryTime: TOTAL_TIMEOUT }
  const fire = () => breaker.fire()
  return () => pRetry(fire, options)
}

export function refusing(/** @type {import('../work.mjs').Work} */ fn) {
  const breaker = new CircuitBreaker(fn, { ...window, timeout: false })
  breaker.open()
  return () => breaker.fire()
}

const nothing = async () => {}
export const restingBreaker = () => new CircuitBreaker(nothing)
