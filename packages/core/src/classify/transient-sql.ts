import { isHoldfastError } from '../errors.js'
import { readCauseChain } from './cause-chain.js'
import type { Classification, ErrorLike } from './classification.js'
import { byCode } from './error-codes.js'
import { byMessage, byName } from './error-names.js'
import { bySqlState } from './sql.js'

const CONNECTION_KINDS = ['timeout', 'network_error']

/** What the network, rather than the database, says. */
function byConnectionCode(error: ErrorLike): Classification | undefined {
  const { code } = error
  const found = typeof code === 'string' ? byCode(code) : undefined
  return found !== undefined && CONNECTION_KINDS.includes(found.kind) ? found : undefined
}

/** Whether one error is worth another try; undefined where it does not tell and its cause is to be asked. */
function isTransientError(error: ErrorLike): boolean | undefined {
  const found = isHoldfastError(error)
    ? byCode(`own:${error.code}`)
    : (byConnectionCode(error) ?? bySqlState(error) ?? byName(error) ?? byMessage(error.message))
  return found && found.category === 'transient'
}

/**
 * Whether an error of a database may go away by itself: a lost or refused connection, a timeout, a deadlock or
 * serialization failure, too few resources, a server that is shutting down. Anything else is not worth another try,
 * and neither is an error that tells nothing, unlike in {@link classify}. It looks through causes, of which the nearest
 * that tells decides, and never throws.
 *
 * @example
 * ```ts
 * import { isTransientSqlError } from 'holdfast/sql'
 *
 * isTransientSqlError(Object.assign(new Error('deadlock detected'), { code: '40P01' })) // => true
 * isTransientSqlError(Object.assign(new Error('duplicate key'), { code: '23505' })) // => false
 * isTransientSqlError(new Error('who knows')) // => false
 * isTransientSqlError(null) // => false
 * ```
 */
export function isTransientSqlError(error: unknown): boolean {
  try {
    for (const node of readCauseChain(error).nodes) {
      const isTransient = isTransientError(node)
      if (isTransient !== undefined) return isTransient
    }
  } catch {
    // A getter or a Proxy threw: nothing is known, and that is no reason to try again.
  }
  return false
}
