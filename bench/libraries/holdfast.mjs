import { CircuitBreaker, guard } from 'holdfast'
import { ATTEMPT_TIMEOUT, ATTEMPTS, OPEN_FOR, TOTAL_TIMEOUT, WINDOW } from './settings.mjs'

const retry = { maxAttempts: ATTEMPTS }
const breaker = { failureThreshold: 5, windowDuration: WINDOW, timeoutDuration: OPEN_FOR }
const timeout = { attempt: ATTEMPT_TIMEOUT, total: TOTAL_TIMEOUT }

/** Kept, because looking the global up costs as much as reading the clock. */
const { performance } = globalThis

/** A clock of the user's own, which is asked whenever the time is needed. */
const ownClock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimer: setTimeout,
  clearTimer: clearTimeout,
}

/** @param {(made: import('holdfast').Guard, fn: import('../work.mjs').Work) => import('../work.mjs').Work} call */
const form = (call) => ({
  retryAndBreaker: (/** @type {import('../work.mjs').Work} */ fn) => call(guard({ retry, breaker }), fn),
  withOwnClock: (/** @type {import('../work.mjs').Work} */ fn) =>
    call(guard({ retry, breaker, clock: ownClock }), fn),
  withTimeouts: (/** @type {import('../work.mjs').Work} */ fn) =>
    call(guard({ retry, breaker, timeout }), fn),
  immediateRetry: (/** @type {import('../work.mjs').Work} */ fn) =>
    call(guard({ retry: { ...retry, backoffType: 'immediate' } }), fn),
  refusing(/** @type {import('../work.mjs').Work} */ fn) {
    const made = guard({ retry, breaker })
    made.breaker?.trip()
    return { call: call(made, fn), nextTestTime: () => made.breaker?.nextTestTime ?? Number.NaN }
  },
})

/** A function made once. */
export const wrap = form((made, fn) => made.wrap(fn))

/** A function handed over with every call. */
export const run = form((made, fn) => () => made.run(fn))

export const restingBreaker = () => new CircuitBreaker()
export const restingBreakerWithId = (/** @type {string} */ id) => new CircuitBreaker({ id })
