import type { AxiosConfig } from './types.js'

/** The methods of axios's deprecated cancel token. */
interface CancelToken {
  subscribe(listener: (reason: unknown) => void): void
  unsubscribe(listener: (reason: unknown) => void): void
}

/** The signal that ends the call of a request: the caller's signal or cancel token. `release` ends the subscription. */
export function callSignal({ signal, cancelToken }: AxiosConfig): {
  signal: AbortSignal | undefined
  release: () => void
} {
  const given = (signal ?? undefined) as AbortSignal | undefined
  if (cancelToken == null) return { signal: given, release: () => {} }
  const token = cancelToken as CancelToken
  const controller = new AbortController()
  const cancel = (reason: unknown): void => controller.abort(reason)
  const abort = (): void => controller.abort(given?.reason)
  token.subscribe(cancel)
  given?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    release: () => {
      token.unsubscribe(cancel)
      given?.removeEventListener('abort', abort)
    },
  }
}

/**
 * The signal of one attempt. A response that is a stream is read when the call has ended, so the caller's signal ends it
 * directly. A cancel token does that by itself, because the config of each attempt has it.
 */
export function attemptSignal(
  config: AxiosConfig & { responseType?: unknown },
  attempt: AbortSignal,
): AbortSignal {
  const { signal, responseType } = config
  return responseType === 'stream' && signal instanceof AbortSignal
    ? AbortSignal.any([attempt, signal])
    : attempt
}
