import { classify, compileMatchers } from '../classify/index.js'
import { HoldfastError } from '../errors.js'
import { withCause } from '../fallback/fallback.js'
import type { FallbackSettings } from './settings/fallback.js'

/** What becomes of a failed call: a value, or an error. */
export type Fall = (error: unknown, self: unknown, args: unknown[], attempt: number) => Promise<unknown>

/** Makes the fallback of a method. An error it is not for goes on as it came. */
export function fallOf({ fallbackMethod, value, applyOn, skipOn }: FallbackSettings, name: string): Fall {
  const applies = applyOn && compileMatchers(applyOn)
  const skips = skipOn && compileMatchers(skipOn)
  const isFor = (error: unknown): boolean => {
    const known = classify(error)
    return !skips?.(error, known) && (applies?.(error, known) ?? true)
  }
  const answer = (error: unknown, self: unknown, args: unknown[], attempt: number): unknown => {
    if (value !== undefined) return value.call(self, error, { args, attempt })
    const method = (self as Record<PropertyKey, unknown> | undefined)?.[fallbackMethod ?? '']
    if (typeof method === 'function') return method.apply(self, args)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `${name} falls back to ${String(fallbackMethod)}, which is no method`,
    )
  }
  return async (error, self, args, attempt) => {
    if (!isFor(error)) throw error
    try {
      return await answer(error, self, args, attempt)
    } catch (thrown) {
      throw withCause(thrown, error)
    }
  }
}
