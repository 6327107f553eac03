import { guard, type HoldfastError, type RetryOptions } from '../../src/index.js'
import type { CompiledRetryPolicy } from '../../src/retry/options.js'

/** The policy that a guard makes of retry options. */
export function policy(options: RetryOptions): CompiledRetryPolicy {
  return (guard({ retry: options }) as unknown as { settings: { retry: CompiledRetryPolicy } }).settings.retry
}

/** What a guard finds wrong with retry options. */
export function problemsOf(options: unknown): readonly string[] {
  try {
    guard({ retry: options as RetryOptions })
  } catch (error) {
    return (error as HoldfastError).details ?? []
  }
  return []
}

/** A random that always says the same. */
export const always = (value: number) => () => value

/** The largest number below 1. */
export const ALMOST_ONE = 1 - Number.EPSILON / 2
