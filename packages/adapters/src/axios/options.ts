import {
  type OptionProblem,
  type OptionSpecOf,
  ofType,
  parseOptions,
  throwIfInvalid,
} from 'holdfast/internal'
import type { AdapterCallOptions } from '../guard.js'

/** Options of {@link createAxiosAdapter}. */
export interface AxiosAdapterOptions<C> {
  /** Whether POST, PATCH and unknown methods are retried too, although the server can have received them. @defaultValue false */
  retryNonIdempotent?: boolean | undefined
  /**
   * Whether a request with a method that is not safe and without an Idempotency-Key gets a key, the same on every attempt. With
   * a key any method is retried. @defaultValue false
   */
  idempotencyKey?: boolean | undefined
  /** The adapter that sends each attempt: a name, several names, or a function. @defaultValue `axios.defaults.adapter` */
  adapter?: unknown
  /** Returns the options of the call that sends a request, such as other retries or, for the runtime, a payload. */
  callOptions?: ((config: C) => AdapterCallOptions | undefined) | undefined
}

/** {@link AxiosAdapterOptions} with defaults. */
export interface AxiosAdapterSettings<C> {
  readonly retryNonIdempotent: boolean
  readonly idempotencyKey: boolean
  readonly adapter: unknown
  readonly callOptions: ((config: C) => AdapterCallOptions | undefined) | undefined
}

const OPTIONS = {
  retryNonIdempotent: [false, ofType('boolean')],
  idempotencyKey: [false, ofType('boolean')],
  adapter: [
    undefined,
    [
      'the name of an adapter, an array, or a function',
      (value: unknown) => Array.isArray(value) || ['string', 'function'].includes(typeof value),
    ],
  ],
  callOptions: [undefined, ofType('function')],
} satisfies OptionSpecOf<AxiosAdapterOptions<unknown>>

/** @throws INVALID_OPTIONS that lists all problems */
export function parseAxiosOptions<C>(
  input: AxiosAdapterOptions<C>,
  adapter: unknown,
): AxiosAdapterSettings<C> {
  const problems: OptionProblem[] = []
  const defaults = { retryNonIdempotent: false, idempotencyKey: false, adapter, callOptions: undefined }
  const settings = parseOptions<AxiosAdapterSettings<C>>('', input, defaults, OPTIONS, problems)
  throwIfInvalid('an axios adapter', problems)
  return settings
}
