import { chainOf } from '../classify/chain.js'
import { byMessage, byNames } from '../classify/names.js'
import { bySql } from '../classify/sql.js'
import type { Bag, Classification } from '../classify/verdict.js'
import { byWord } from '../classify/words.js'
import { isHoldfastError } from '../errors.js'

const LOST = ['timeout', 'network_error']

/** What the network, rather than the database, says. */
function byConnection(error: Bag): Classification | undefined {
  const { code } = error
  const found = typeof code === 'string' ? byWord(code) : undefined
  return found !== undefined && LOST.includes(found.kind) ? found : undefined
}

/** Whether one error is worth another try; undefined where it does not tell and its cause is to be asked. */
function isTransient(error: Bag): boolean | undefined {
  const found = isHoldfastError(error)
    ? byWord(`own:${error.code}`)
    : (byConnection(error) ?? bySql(error) ?? byNames(error) ?? byMessage(error.message))
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
    for (const node of chainOf(error).nodes) {
      const told = isTransient(node)
      if (told !== undefined) return told
    }
  } catch {
    // A getter or a Proxy threw: nothing is known, and that is no reason to try again.
  }
  return false
}
