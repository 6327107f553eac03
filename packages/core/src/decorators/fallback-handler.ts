import { classify, compileMatchers } from '../classify/index.js'
import { HoldfastError } from '../errors.js'
import { withCause } from '../fallback/fallback.js'
import type { FallbackSettings } from './settings/fallback.js'

/** What becomes of a failed call: a value, or an error. */
export type FallbackHandler = (
  error: unknown,
  self: unknown,
  args: unknown[],
  attempt: number,
) => Promise<unknown>

/** Makes the fallback of a method. An error it is not for goes on as it came. */
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
      `${name} falls back to ${String(fallbackMethod)}, which is no method`,
    )
  }
  return async (error, self, args, attempt) => {
    if (!isHandled(error)) throw error
    try {
      return await callFallback(error, self, args, attempt)
    } catch (thrown) {
      throw withCause(thrown, error)
    }
  }
}
