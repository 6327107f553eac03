import { type Clock, type Guard, guard, isHoldfastError, type Random } from 'holdfast'
import { isStatementTimeout } from './failure.js'

/** How many transactions can wait for a connection. */
const MAX_QUEUED_WORK = 10_000

/** Options of {@link createDatabaseGuard}. */
export interface DatabaseGuardOptions {
  readonly clock: Clock
  readonly random: Random
  /** The maximum number of connections. */
  readonly connections: number
  /** How long a probe can take, in milliseconds. It is longer than the timeouts of a probe, so that its outcome always counts. */
  readonly probeLease: number
}

/** Creates the guard under which the store runs its transactions. */
export const createDatabaseGuard = ({
  clock,
  random,
  connections,
  probeLease,
}: DatabaseGuardOptions): Guard =>
  guard({
    name: 'postgres',
    clock,
    random,
    retry: {
      maxAttempts: 5,
      baseDelay: 100,
      maxDelay: 2000,
      jitterType: 'full',
      jitterAmount: 0.5,
      // Errors of this store are final, and a statement that timed out would time out again.
      abortOn: [isStatementTimeout, (error: unknown) => isHoldfastError(error)],
    },
    // All concurrent transactions fail at once when the server is lost.
    breaker: {
      windowType: 'consecutive',
      failureThreshold: 2 * connections + 4,
      timeoutDuration: 500,
      timeoutMultiplier: 2,
      // Entries of the disk fallback should be moved within seconds after the server is back.
      maxTimeoutDuration: 2000,
      probeLease,
    },
    bulkhead: { limit: connections, queue: MAX_QUEUED_WORK },
  })
