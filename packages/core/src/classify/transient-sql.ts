import { isHoldfastError } from '../errors.js'
import { readCauseChain } from './cause-chain.js'
import type { Classification, ErrorLike } from './classification.js'
import { byCode } from './error-codes.js'
import { byMessage, byName } from './error-names.js'
import { byOwnCode } from './own-errors.js'
import { isTransientPrismaError } from './prisma.js'
import { bySqlState } from './sql.js'

const CONNECTION_KINDS = ['timeout', 'network_error']

/** The classification of an error of the network rather than of the database, by its code. */
function byConnectionCode(error: ErrorLike): Classification | undefined {
  const { code } = error
  const found = typeof code === 'string' ? byCode(code) : undefined
  return found !== undefined && CONNECTION_KINDS.includes(found.kind) ? found : undefined
}

/** Whether one error is transient; undefined if it cannot be classified, so that its cause decides. */
function isTransientError(error: ErrorLike): boolean | undefined {
  const isTransientInPrisma = isTransientPrismaError(error)
  if (isTransientInPrisma !== undefined) return isTransientInPrisma
  const found = isHoldfastError(error)
    ? byOwnCode(error.code)
    : (byConnectionCode(error) ?? bySqlState(error) ?? byName(error) ?? byMessage(error.message))
  return found && found.category === 'transient'
}

/**
 * Whether an error of a database is transient: a lost or refused connection, a timeout, a deadlock or serialization failure,
 * insufficient resources, a server that is shutting down. Unlike in {@link classify}, an unknown error is not transient. If
 * an error cannot be classified, the nearest of its causes that can decides. It never throws.
 *
 * @example
 * ```ts
 * import { isTransientSqlError } from 'holdfast/sql'
 *
 * isTransientSqlError(Object.assign(new Error('deadlock detected'), { code: '40P01' })) // => true
 * isTransientSqlError(Object.assign(new Error('duplicate key'), { code: '23505' })) // => false
 * isTransientSqlError(new Error('unknown')) // => false
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
    // A getter or a Proxy threw. An error that cannot be inspected is not retried.
  }
  return false
}
