import { HoldfastError } from 'holdfast'
import type { CallOptions } from './face.js'

/** Refuses a call that cannot be made. @throws INVALID_OPTIONS */
export function checkCall(fn: unknown, options: unknown): void {
  const problems: string[] = []
  if (typeof fn !== 'function') problems.push(`fn: got ${typeof fn}, takes a function`)
  if (options !== undefined) {
    if (typeof options !== 'object' || options === null) problems.push('options: takes an object')
    else {
      const { signal, policy } = options as CallOptions
      if (signal !== undefined && typeof signal?.addEventListener !== 'function')
        problems.push(`signal: got ${typeof signal}, takes an AbortSignal`)
      if (policy !== undefined && (policy === null || !['string', 'object'].includes(typeof policy)))
        problems.push('policy: takes the id of a policy, or its fields')
    }
  }
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `the call cannot be made: ${problems.join('; ')}`, {
      details: problems,
    })
}

const OPENING = ['config', 'store', 'clock', 'random', 'logger', 'fallback', 'watch', 'env']

/** Refuses options that say nothing a runtime knows. @throws INVALID_OPTIONS */
export function checkOpen(options: unknown): void {
  const unknown =
    typeof options === 'object' && options !== null
      ? Object.keys(options).filter((key) => !OPENING.includes(key))
      : [typeof options]
  if (unknown.length > 0)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `Holdfast.open takes a path, or an object with ${OPENING.join(', ')}; got ${unknown.join(', ')}`,
    )
}
