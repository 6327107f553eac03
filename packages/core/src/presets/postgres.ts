import { isTransientSqlError } from '../classify/transient-sql.js'
import { type DatabasePreset, deepFreeze } from './preset.js'

/**
 * PostgreSQL: 3 retries after 500 ms, 1 s and 2 s, each with up to 100 ms of jitter, 30 s in total. Errors for which
 * `isTransientSqlError` returns true are retried; constraint violations and invalid arguments never are.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { postgres } from 'holdfast/presets'
 *
 * const db = guard(postgres)
 * await db.run(async () => 'rows') // => 'rows'
 * ```
 */
export const postgres: DatabasePreset = deepFreeze({
  name: 'postgres',
  retry: {
    maxAttempts: 4,
    backoffType: 'exponential',
    baseDelay: 500,
    multiplier: 2,
    maxDelay: 30_000,
    jitterType: 'additive',
    jitterMin: 0,
    jitterMax: 100,
    retryOn: [isTransientSqlError],
    abortOn: ['SQLIntegrityConstraintViolationException', 'IllegalArgumentException'],
  },
  timeout: { total: 30_000 },
})
