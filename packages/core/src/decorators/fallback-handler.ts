import { classify, compileMatchers } from '../classify/index.js'
import { HoldfastError } from '../errors.js'
import { withCause } from '../fallback/fallback.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import type { FallbackSettings } from './settings/fallback.js'

/** Handles a failed call: returns a value in its place, or throws. */
export type FallbackHandler = (
  error: unknown,
  self: unknown,
  args: unknown[],
  attempt: number,
) => Promise<unknown>

/** Creates the fallback of a method. An error that `applyOn` or `skipOn` excludes is rethrown unchanged. */
export function createFallback(
  { fallbackMethod, value, applyOn, skipOn }: FallbackSettings,
  name: string,
): FallbackHandler {
  const matchesApplyOn = applyOn && compileMatchers(applyOn)
  const matchesSkipOn = skipOn && compileMatchers(skipOn)
  const isHandled = (error: unknown): boolean => {
    const classification = classify(error)
    return !matchesSkipOn?.(error, classification) && (matchesApplyOn?.(error, classification) ?? true)
  }
  const callFallback = (error: unknown, self: unknown, args: unknown[], attempt: number): unknown => {
    if (value !== undefined) return value.call(self, error, { args, attempt })
    const method = (self as Record<PropertyKey, unknown> | undefined)?.[fallbackMethod ?? '']
    if (typeof method === 'function') return method.apply(self, args)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `${name}: expected fallbackMethod to name a method, got ${String(fallbackMethod)}`,
    )
  }
  return async (error, self, args, attempt) => {
    if (!isHandled(error)) throw error
    try {
      return await callFallback(error, self, args, attempt)
    } catch (thrown) {
      throw withCause(unwrapStopRetrying(thrown), error)
    }
  }
}
