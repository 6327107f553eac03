import type { Classification } from 'holdfast'
import type { CompiledRetryPolicy, HostedCall } from 'holdfast/internal'
import type { CallOptions } from './api-types.js'

/** Creates the dead letter of a request that failed. */
export interface DeadLetterSource {
  readonly itemId: string
  readonly idempotencyKey: string | undefined
  /** Whether the request is stored after this error, which the policy classifies so. */
  shouldStore(error: unknown, known: Classification | undefined, policy: CompiledRetryPolicy): boolean
  createPayload(): Promise<unknown>
}

/** The parts of a call that only a request of `hf.createFetch` or `hf.undici` has. */
export interface RequestCall extends Pick<HostedCall<unknown>, 'guard' | 'toRequestPolicy'> {
  readonly deadLetter: DeadLetterSource | undefined
}

/** The key of {@link RequestCall} in call options: a symbol, so that wrappers of `hf.run` copy it and callers cannot set it. */
const REQUEST = Symbol('request')

/** Adds the request to the options of its call. */
export const withRequest = (
  options: CallOptions<unknown>,
  request: RequestCall | undefined,
): CallOptions<unknown> =>
  request === undefined ? options : Object.assign({}, options, { [REQUEST]: request })

/** The request that a call sends, where it is one of `hf.createFetch` or `hf.undici`. */
export const requestOf = (options: CallOptions<unknown> | undefined): RequestCall | undefined =>
  (options as { [REQUEST]?: RequestCall } | undefined)?.[REQUEST]
