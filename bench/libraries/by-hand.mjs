// What a programmer writes in a minute: the least that the thing can cost.
import { ATTEMPTS, OPEN_FOR } from './settings.mjs'

/** A retry loop around a breaker that is a counter. */
export function retryAndBreaker(/** @type {import('../work.mjs').Work} */ fn) {
  const breaker = { open: false, failures: 0 }
  return async () => {
    for (let attempt = 1; ; attempt++) {
      if (breaker.open) throw new Error('open')
      try {
        return await fn()
      } catch (error) {
        breaker.open = ++breaker.failures >= 5
        if (attempt === ATTEMPTS) throw error
      }
    }
  }
}

export function immediateRetry(/** @type {import('../work.mjs').Work} */ fn) {
  return async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await fn()
      } catch (error) {
        if (attempt === ATTEMPTS) throw error
      }
    }
  }
}

/** An error with its stack, as `throw new Error()` makes it. */
export function refusing() {
  const until = performance.now() + OPEN_FOR
  return async () => {
    throw Object.assign(new Error('open'), { retryAfter: until - performance.now() })
  }
}
