import { anyBoolean, anyFunction, checkOptions, type OptionCheck } from '@holdfast/records'
import type { FallbackInfo } from 'holdfast'
import type { FetchFunction, FetchRetryOptions } from 'holdfast/http'
import type { CallOptions } from '../api-types.js'
import { CALL_CHECKS } from '../call-options.js'

/** The options of `hf.undici`, which apply to every request. */
export interface RequestOptions
  extends Pick<CallOptions, 'service' | 'pool' | 'policy' | 'timeout' | 'name'> {
  /** Overrides the retry options of the policy; options that are absent keep their value. `false` allows one attempt. */
  retry?: FetchRetryOptions | false | undefined
}

/** The options of `hf.createFetch`, which apply to every request. */
export interface RuntimeFetchOptions extends RequestOptions, Pick<CallOptions, 'context'> {
  /** The function that sends a request. @defaultValue the global fetch at the time of the request */
  fetch?: FetchFunction | undefined
  /** Whether a response with a status of 400 or more is thrown as a StatusError instead of returned. @defaultValue false */
  throwOnStatus?: boolean | undefined
  /** Returns a response in place of an error, and with `throwOnStatus` of a status. Not called when the caller aborts. */
  fallback?: ((error: unknown, info: FallbackInfo) => Response | PromiseLike<Response>) | undefined
  /**
   * Stores a request that fails as a dead letter, without its credentials, and registers the handler that replays it. Only
   * requests with an idempotent method or an Idempotency-Key are stored. A response with a status that is retried is a failure
   * too; it is still returned. @defaultValue false
   */
  deadLetter?: boolean | undefined
  /** Returns the headers that a replay adds to a stored request, such as Authorization. */
  headers?: (() => RequestInit['headers'] | PromiseLike<RequestInit['headers']>) | undefined
}

const { context, service, pool, policy, retry, timeout, name, fallback } = CALL_CHECKS
const REQUEST_CHECKS: Readonly<Record<keyof RequestOptions, OptionCheck>> = {
  service,
  pool,
  policy,
  retry,
  timeout,
  name,
}
const FETCH_CHECKS: Readonly<Record<keyof RuntimeFetchOptions, OptionCheck>> = {
  ...REQUEST_CHECKS,
  context,
  fetch: anyFunction,
  throwOnStatus: anyBoolean,
  fallback,
  deadLetter: anyBoolean,
  headers: anyFunction,
}

/** Rejects unknown or wrong options of `hf.createFetch`. @throws INVALID_OPTIONS */
export const checkFetchOptions = (options: unknown): void =>
  checkOptions('a fetch cannot be created', options, {}, FETCH_CHECKS)

/** Rejects unknown or wrong options of `hf.undici`. @throws INVALID_OPTIONS */
export const checkInterceptorOptions = (options: unknown): void =>
  checkOptions('an interceptor cannot be created', options, {}, REQUEST_CHECKS)
