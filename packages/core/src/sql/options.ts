import type { CircuitBreaker } from '../breaker/breaker.js'
import type { GuardOptions } from '../guard/options.js'
import { anyOf, type OptionSpec, ofType, oneOf, parseOptions, throwIfInvalid } from '../options.js'
import { postgres } from '../presets/postgres.js'
import type { CancelStatement } from './cancel.js'

/** How a transaction is begun and repeated. What a guard takes is taken here too, but for what makes no sense. */
export interface TransactionOptions<F = never>
  extends Omit<GuardOptions<F>, 'breaker' | 'bulkhead' | 'hedge' | 'pool'> {
  /** The isolation level. @defaultValue the database's */
  isolation?: 'read committed' | 'repeatable read' | 'serializable' | undefined
  /** Whether the transaction only reads. @defaultValue false */
  readOnly?: boolean | undefined
  /**
   * Whether a transaction of which nobody knows whether it was committed is run again: for those that may run twice.
   * @defaultValue false
   */
  retryUnknownCommit?: boolean | undefined
  /**
   * Whether a statement that still runs when a deadline passes or the caller aborts is cancelled on the server: by another
   * connection of the pool, with `pg_cancel_backend`, or by a function of your own. COMMIT never is. @defaultValue true
   */
  cancel?: boolean | CancelStatement | undefined
  /** A breaker, shared with other transactions. @defaultValue none */
  breaker?: CircuitBreaker | undefined
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Handed to events and the fallback. */
  context?: unknown
}

/** {@link TransactionOptions} taken apart. */
export interface TransactionSettings {
  /** The statement that begins it. */
  readonly beginStatement: string
  readonly retryUnknownCommit: boolean
  readonly cancel: boolean | CancelStatement
  readonly guard: GuardOptions<unknown>
  readonly runOptions: { readonly signal?: AbortSignal | undefined; readonly context?: unknown }
}

const TRANSACTION_SPEC: OptionSpec = {
  isolation: [undefined, oneOf('read committed', 'repeatable read', 'serializable')],
  readOnly: [false, ofType('boolean')],
  retryUnknownCommit: [false, ofType('boolean')],
  cancel: [true, anyOf(ofType('boolean'), ofType('function'))],
}

const UNSUPPORTED_GUARD_OPTIONS = ['bulkhead', 'hedge', 'pool'] as const

/** Options without those that are undefined, which count as absent. */
const given = <T extends object>(options: T | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>

/** Checks what is a transaction's own; a guard checks the rest. */
export function parseTransactionOptions(options: TransactionOptions<unknown>): TransactionSettings {
  const { isolation, readOnly, retryUnknownCommit, cancel = true, signal, context, ...rest } = options
  const problems: string[] = []
  parseOptions('', { isolation, readOnly, retryUnknownCommit, cancel }, {}, TRANSACTION_SPEC, problems)
  for (const name of UNSUPPORTED_GUARD_OPTIONS)
    if (name in rest) problems.push(`${name}: is not for transactions`)
  throwIfInvalid('a transaction', problems)
  const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`
  const { retry, timeout } = rest
  return {
    beginStatement: `BEGIN${level}${readOnly ? ' READ ONLY' : ''}`,
    retryUnknownCommit: retryUnknownCommit === true,
    cancel,
    guard: {
      name: 'a transaction',
      ...rest,
      retry: retry === false ? false : { ...postgres.retry, ...given(retry) },
      timeout: { ...postgres.timeout, ...given(timeout) },
    },
    runOptions: { signal, context },
  }
}
