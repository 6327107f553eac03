import { random } from '../platform.js'
import type { IExponentialBackoffOptions } from './backoff.js'

/** Computes the next delay of an exponential backoff, and the state for the one after it. */
export type GeneratorFn<S> = (state: S | undefined, options: IExponentialBackoffOptions<S>) => [number, S]

/** Delays that double, without jitter. */
export const noJitterGenerator: GeneratorFn<number> = (attempts = 0, { initialDelay, maxDelay }) => [
  Math.min(maxDelay, initialDelay * 2 ** attempts),
  attempts + 1,
]

/** Random delays from 0 up to those of {@link noJitterGenerator}. */
export const fullJitterGenerator: GeneratorFn<number> = (attempts, options) => {
  const [delay, next] = noJitterGenerator(attempts, options)
  return [Math.floor(random() * delay), next]
}

/** Random delays from a half of those of {@link noJitterGenerator} up to the whole. */
export const halfJitterGenerator: GeneratorFn<number> = (attempts, options) => {
  const [delay, next] = noJitterGenerator(attempts, options)
  return [Math.floor((delay + random() * delay) / 2), next]
}

/** Smooths the first delays. */
const SMOOTHING = 4
/** Moves the medians of the delays near to `initialDelay`, twice that, and so on. */
const SCALE = 1 / 1.4

/**
 * The decorrelated jitter of Polly (DecorrelatedJitterBackoffV2): the difference between two points of a curve that grows
 * exponentially, at random distances. The state is the number of delays, and the value of the curve at the last one.
 */
export const decorrelatedJitterGenerator: GeneratorFn<[number, number]> = (
  [attempt, lastValue] = [0, 0],
  { exponent, initialDelay, maxDelay },
) => {
  const t = attempt + random()
  const value = exponent ** t * Math.tanh(Math.sqrt(SMOOTHING * t))
  const growth = Number.isFinite(value) ? Math.max(0, value - lastValue) : Number.POSITIVE_INFINITY
  return [Math.min(growth * SCALE * initialDelay, maxDelay), [attempt + 1, value]]
}
