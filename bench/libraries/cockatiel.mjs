import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleAll,
  retry,
  SamplingBreaker,
  TimeoutStrategy,
  timeout,
  wrap,
} from 'cockatiel'
import { ATTEMPT_TIMEOUT, OPEN_FOR, RETRIES, TOTAL_TIMEOUT, WINDOW } from './settings.mjs'

const retrying = () => retry(handleAll, { maxAttempts: RETRIES })
const breaking = () =>
  circuitBreaker(handleAll, {
    halfOpenAfter: OPEN_FOR,
    breaker: new SamplingBreaker({ threshold: 0.5, duration: WINDOW }),
  })

export function retryAndBreaker(/** @type {import('../work.mjs').Work} */ fn) {
  const policy = wrap(retrying(), breaking())
  return () => policy.execute(fn)
}

export function withTimeouts(/** @type {import('../work.mjs').Work} */ fn) {
  const policy = wrap(
    timeout(TOTAL_TIMEOUT, TimeoutStrategy.Aggressive),
    retrying(),
    breaking(),
    timeout(ATTEMPT_TIMEOUT, TimeoutStrategy.Aggressive),
  )
  return () => policy.execute(fn)
}

export function immediateRetry(/** @type {import('../work.mjs').Work} */ fn) {
  const policy = retrying()
  return () => policy.execute(fn)
}

export async function refusing(/** @type {import('../work.mjs').Work} */ fn) {
  const policy = circuitBreaker(handleAll, { halfOpenAfter: OPEN_FOR, breaker: new ConsecutiveBreaker(1) })
  await policy.execute(() => Promise.reject(new Error('opens it'))).catch(() => {})
  if (policy.state !== CircuitState.Open) throw new Error('it is not open')
  return () => policy.execute(fn)
}

export const restingBreaker = breaking
