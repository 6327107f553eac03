import { Effect, Layer, ManagedRuntime } from 'effect'
import { CircuitBreaker } from 'effect/persistence'
import { ATTEMPT_TIMEOUT, OPEN_FOR, RETRIES, TOTAL_TIMEOUT } from './settings.mjs'

/** The effect is built once and run with every call, which is how Effect is meant to be used. */
const attempt = (/** @type {import('../work.mjs').Work} */ fn) =>
  Effect.tryPromise({ try: () => fn(), catch: (error) => error })

const retrying = Effect.retry({ times: RETRIES })

/** @param {ReturnType<typeof CircuitBreaker.rate>} tripPolicy */
async function breaking(tripPolicy) {
  const layer = CircuitBreaker.layer({ tripPolicy, openDuration: OPEN_FOR })
  const runtime = ManagedRuntime.make(Layer.provide(layer, CircuitBreaker.layerStoreMemory()))
  const breaker = await runtime.runPromise(CircuitBreaker.CircuitBreaker)
  return breaker.execute({ key: 'bench' })
}

/** Its rolling window is one of calls. */
const rolling = () => breaking(CircuitBreaker.rate({ threshold: 0.5, size: 100 }))

export async function retryAndBreaker(/** @type {import('../work.mjs').Work} */ fn) {
  const effect = attempt(fn).pipe(await rolling(), retrying)
  return () => Effect.runPromise(effect)
}

export async function withTimeouts(/** @type {import('../work.mjs').Work} */ fn) {
  const effect = attempt(fn).pipe(
    Effect.timeout(ATTEMPT_TIMEOUT),
    await rolling(),
    retrying,
    Effect.timeout(TOTAL_TIMEOUT),
  )
  return () => Effect.runPromise(effect)
}

export async function refusing(/** @type {import('../work.mjs').Work} */ fn) {
  const guarded = await breaking(CircuitBreaker.consecutive(1))
  await Effect.runPromise(guarded(Effect.fail(new Error('opens it')))).catch(() => {})
  const effect = guarded(attempt(fn))
  return () => Effect.runPromise(effect)
}
