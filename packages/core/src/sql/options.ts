import type { CircuitBreaker } from '../breaker/breaker.js'
import type { GuardOptions } from '../guard/options.js'
import {
  anyOf,
  createProblem,
  formatValue,
  type OptionProblem,
  type OptionSpec,
  ofType,
  oneOf,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import { postgres } from '../presets/postgres.js'
import type { CancelStatement } from './cancel.js'

/** Options of a transaction: those of a guard, except for those that do not apply, and some for the transaction. */
export interface TransactionOptions<F = never>
  extends Omit<GuardOptions<F>, 'breaker' | 'bulkhead' | 'hedge' | 'pool'> {
  /** The isolation level. @defaultValue that of the database */
  isolation?: 'read committed' | 'repeatable read' | 'serializable' | undefined
  /** Whether the transaction only reads. @defaultValue false */
  readOnly?: boolean | undefined
  /**
   * Whether a transaction is retried when it is unknown whether it was committed: for transactions that can safely run twice.
   * @defaultValue false
   */
  retryUnknownCommit?: boolean | undefined
  /**
   * Whether a statement that still runs when a deadline passes or the caller aborts is cancelled on the server: with
   * `pg_cancel_backend` through another connection of the pool, or by a given function. COMMIT is never cancelled.
   * @defaultValue true
   */
  cancel?: boolean | CancelStatement | undefined
  /** A breaker, which can be shared with other transactions. @defaultValue none */
  breaker?: CircuitBreaker | undefined
  /** Ends the call at once when it is aborted, with the reason of the signal. */
  signal?: AbortSignal | undefined
  /** The context for events and the fallback. */
  context?: unknown
}

/** {@link TransactionOptions}, validated and separated into those of the guard and of the transaction. */
export interface TransactionSettings {
  /** The statement that begins the transaction. */
  readonly beginStatement: string
  readonly retryUnknownCommit: boolean
  readonly cancel: boolean | CancelStatement
  readonly guard: GuardOptions<unknown>
  readonly runOptions: { readonly signal?: AbortSignal | undefined; readonly context?: unknown }
}

const TRANSACTION_SPEC: OptionSpec = {
  isolation: [undefined, oneOf(['read committed', 'repeatable read', 'serializable'])],
  readOnly: [false, ofType('boolean')],
  retryUnknownCommit: [false, ofType('boolean')],
  cancel: [true, anyOf(ofType('boolean'), ofType('function'))],
}

const UNSUPPORTED_GUARD_OPTIONS = ['bulkhead', 'hedge', 'pool'] as const

/** Removes undefined options, which count as absent. */
const omitUndefined = <T extends object>(options: T | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>

/** Validates the options of the transaction; a guard validates the others. */
export function parseTransactionOptions(options: TransactionOptions<unknown>): TransactionSettings {
  const { isolation, readOnly, retryUnknownCommit, cancel = true, signal, context, ...rest } = options
  const problems: OptionProblem[] = []
  parseOptions('', { isolation, readOnly, retryUnknownCommit, cancel }, {}, TRANSACTION_SPEC, problems)
  for (const name of UNSUPPORTED_GUARD_OPTIONS)
    if (name in rest)
      problems.push(
        createProblem(
          name,
          'unknown',
          `no ${name} for a transaction`,
          formatValue((rest as GuardOptions)[name]),
        ),
      )
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
      retry: retry === false ? false : { ...postgres.retry, ...omitUndefined(retry) },
      timeout: { ...postgres.timeout, ...omitUndefined(timeout) },
    },
    runOptions: { signal, context },
  }
}
