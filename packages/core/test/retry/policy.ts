import { guard, type HoldfastError, type RetryOptions } from '../../src/index.js'
import type { CompiledRetryPolicy } from '../../src/retry/options.js'

/** The policy that a guard compiles from retry options. */
export function policy(options: RetryOptions): CompiledRetryPolicy {
  return (guard({ retry: options }) as unknown as { settings: { retry: CompiledRetryPolicy } }).settings.retry
}

/** The problems that a guard reports for retry options. */
export function problemsOf(options: unknown): readonly string[] {
  try {
    guard({ retry: options as RetryOptions })
  } catch (error) {
    return (error as HoldfastError).details ?? []
  }
  return []
}

/** A random function that always returns the same number. */
export const always = (value: number) => () => value

/** The largest number below 1. */
export const ALMOST_ONE = 1 - Number.EPSILON / 2
