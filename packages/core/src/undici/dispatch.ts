/** What stops and goes on with an answer while it comes. */
export interface DispatchController {
  readonly aborted: boolean
  readonly paused: boolean
  readonly reason: Error | null
  rawHeaders?: unknown
  rawTrailers?: unknown
  abort(reason: Error): void
  pause(): void
  resume(): void
}

/** Headers by their names in small letters. */
export type DispatchHeaders = Record<string, string | string[] | undefined>

/** What hears of an answer, since undici 7. */
export interface DispatchHandler {
  onRequestStart?(controller: DispatchController, context: unknown): void
  onRequestUpgrade?(
    controller: DispatchController,
    status: number,
    headers: DispatchHeaders,
    socket: unknown,
  ): void
  onResponseStart?(
    controller: DispatchController,
    status: number,
    headers: DispatchHeaders,
    message?: string,
  ): void
  onResponseData?(controller: DispatchController, chunk: Uint8Array): void
  onResponseEnd?(controller: DispatchController, trailers: DispatchHeaders): void
  onResponseError?(controller: DispatchController, error: Error): void
}

/** What hears of an answer, before undici 7. A `false` from it means: not so fast. */
export interface LegacyDispatchHandler {
  onConnect?(abort: (reason?: Error) => void, context?: unknown): void
  onHeaders?(status: number, headers: unknown, resume: () => void, message?: string): boolean | undefined
  onData?(chunk: Uint8Array): boolean | undefined
  onComplete?(trailers: unknown): void
  onError?(error: Error): void
}

/** What is to be sent, as far as it matters here; everything else is passed on. */
export interface DispatchOptions {
  readonly origin?: string | URL
  readonly path?: string
  readonly method: string
  readonly headers?: unknown
  readonly body?: unknown
  readonly upgrade?: unknown
}

/** Sends a request; false where the next one had better wait. */
export type Dispatch = (options: DispatchOptions, handler: DispatchHandler & LegacyDispatchHandler) => boolean
