import {
  createIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  isIdempotentMethod,
  isOneShot,
  isSafeMethod,
  systemRandom,
  wasNotSent,
} from 'holdfast/internal'
import type { AxiosAdapterSettings } from './options.js'
import type { AxiosConfig } from './types.js'

/** One request with all its attempts. */
export interface RepeatableRequest {
  readonly method: string
  /** Whether it is safe if the request arrives more than once, and its body can be sent again. */
  readonly isRepeatSafe: boolean
  /** Whether the request can be sent again after this error. */
  canRepeatAfter(error: unknown): boolean
}

/** Decides how a request can be repeated, and adds its idempotency key. */
export function createRepeatableRequest<C extends AxiosConfig>(
  { headers, data, method: givenMethod = 'GET' }: C,
  { retryNonIdempotent, idempotencyKey }: AxiosAdapterSettings<C>,
  uri: string,
): RepeatableRequest {
  const method = givenMethod.toUpperCase()
  if (idempotencyKey && !isSafeMethod(method) && !headers.has(IDEMPOTENCY_KEY_HEADER))
    headers.set(IDEMPOTENCY_KEY_HEADER, createIdempotencyKey(systemRandom))
  const isRepeatable = retryNonIdempotent || isIdempotentMethod(method) || headers.has(IDEMPOTENCY_KEY_HEADER)
  const isReadOnce = isOneShot(data) || isNodeStream(data)
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  return {
    method,
    isRepeatSafe: isRepeatable && !isReadOnce,
    canRepeatAfter: (error) => !isReadOnce && (isRepeatable || wasNotSent(error, url)),
  }
}

/** Whether a body is a stream of Node.js, old streams such as those of the package `form-data` included. */
const isNodeStream = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && typeof (data as { pipe?: unknown }).pipe === 'function'
