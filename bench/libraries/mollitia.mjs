import { BreakerState, Circuit, Retry, SlidingCountBreaker, SlidingTimeBreaker, Timeout } from 'mollitia'
import { ATTEMPT_TIMEOUT, OPEN_FOR, RETRIES, TOTAL_TIMEOUT, WINDOW } from './settings.mjs'

const retrying = () => new Retry({ attempts: RETRIES })
const counting = () => new SlidingCountBreaker({ openStateDelay: OPEN_FOR })

/**
 * @param {import('../work.mjs').Work} fn
 * @param {import('mollitia').Module[]} modules
 */
function circuit(fn, modules) {
  const made = new Circuit({ func: fn, options: { modules } })
  return () => made.execute()
}

/** The last ten calls. */
export const retryAndBreaker = (/** @type {import('../work.mjs').Work} */ fn) =>
  circuit(fn, [retrying(), counting()])

/** The calls of the last minute, a thousand at the most. */
export const retryAndTimeBreaker = (/** @type {import('../work.mjs').Work} */ fn) =>
  circuit(fn, [retrying(), new SlidingTimeBreaker({ slidingWindowSize: WINDOW, openStateDelay: OPEN_FOR })])

export const withTimeouts = (/** @type {import('../work.mjs').Work} */ fn) =>
  circuit(fn, [
    new Timeout({ delay: TOTAL_TIMEOUT }),
    retrying(),
    counting(),
    new Timeout({ delay: ATTEMPT_TIMEOUT }),
  ])

export const refusing = (/** @type {import('../work.mjs').Work} */ fn) =>
  circuit(fn, [new SlidingCountBreaker({ state: BreakerState.OPENED, openStateDelay: OPEN_FOR })])

export const restingBreaker = counting
