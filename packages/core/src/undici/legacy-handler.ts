import type {
  DispatchController,
  DispatchHandler,
  DispatchHeaders,
  LegacyDispatchHandler,
} from './dispatch.js'
import { toRawHeaders } from './headers.js'

/**
 * Converts a handler of either undici interface to the current one. A handler with both interfaces wraps a legacy one, such as that
 * of fetch, and is called by the legacy one: the wrapper of undici 7.16, which Node.js 24 contains, joins headers that have the
 * same name, cookies included.
 */
export function toDispatchHandler(handler: DispatchHandler & LegacyDispatchHandler): DispatchHandler {
  const isLegacy = typeof handler.onHeaders === 'function' || typeof handler.onRequestStart !== 'function'
  return isLegacy ? new LegacyHandlerAdapter(handler) : handler
}

class LegacyHandlerAdapter implements DispatchHandler {
  private readonly handler: LegacyDispatchHandler

  constructor(handler: LegacyDispatchHandler) {
    this.handler = handler
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.handler.onConnect?.((reason) => controller.abort(reason as Error), context)
  }

  onResponseStart(
    controller: DispatchController,
    status: number,
    headers: DispatchHeaders,
    message?: string,
  ): void {
    const raw = controller.rawHeaders ?? toRawHeaders(headers)
    if (this.handler.onHeaders?.(status, raw, () => controller.resume(), message) === false)
      controller.pause()
  }

  onResponseData(controller: DispatchController, chunk: Uint8Array): void {
    if (this.handler.onData?.(chunk) === false) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: DispatchHeaders): void {
    this.handler.onComplete?.(controller.rawTrailers ?? toRawHeaders(trailers))
  }

  onResponseError(_: DispatchController, error: Error): void {
    this.handler.onError?.(error)
  }
}
