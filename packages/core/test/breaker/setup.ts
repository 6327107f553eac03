import {
  CircuitBreaker,
  type CircuitBreakerOptions,
  type HoldfastError,
  isHoldfastError,
  type Permit,
} from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'

/** A breaker on a fake clock. */
export function made(options: CircuitBreakerOptions = {}): { breaker: CircuitBreaker; clock: FakeClock } {
  const clock = fakeClock()
  return { breaker: new CircuitBreaker({ id: 'b', clock, ...options }), clock }
}

/** A breaker that was just opened by failures. */
export function opened(options: CircuitBreakerOptions = {}): { breaker: CircuitBreaker; clock: FakeClock } {
  const { breaker, clock } = made({ failureThreshold: 3, timeoutDuration: 1000, ...options })
  while (breaker.state === 'closed') fail(breaker)
  return { breaker, clock }
}

/** Acquires a permit; throws where the breaker rejects the call. */
export function admitted(breaker: CircuitBreaker): Permit {
  const permit = breaker.admit()
  if (permit === undefined) throw new Error(`the ${breaker.state} breaker rejected a call`)
  return permit
}

export function fail(breaker: CircuitBreaker, times = 1): void {
  for (let i = 0; i < times; i++) admitted(breaker).failure()
}

export function succeed(breaker: CircuitBreaker, times = 1): void {
  for (let i = 0; i < times; i++) admitted(breaker).success()
}

/** The error with which the breaker rejects a call; throws where the call is admitted. */
export async function rejectionOf(breaker: CircuitBreaker): Promise<HoldfastError> {
  const error: unknown = await breaker.run(() => 'let through').catch((thrown: unknown) => thrown)
  if (!isHoldfastError(error, 'CIRCUIT_OPEN')) throw new Error('the call was not rejected')
  return error
}

/** Every problem that INVALID_OPTIONS lists. */
export function problemsOf(fn: () => unknown): readonly string[] {
  try {
    fn()
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_OPTIONS')) return error.details ?? []
    throw error
  }
  return []
}

/** A promise that is settled from outside. */
export function held<T>(): {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: unknown) => void
} {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** How many numbers the breaker's window stores, expired or not; undefined where it has no window yet. */
export function kept({ window }: CircuitBreaker): number | undefined {
  if (window === undefined) return undefined
  const arrays = Object.values(window).filter((value) => Array.isArray(value))
  return arrays.reduce((sum, array) => sum + array.length, 0)
}
