/** Pauses, resumes and aborts a response. */
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

/** Headers by lower-case name. */
export type DispatchHeaders = Record<string, string | string[] | undefined>

/** Receives a response, since undici 7. */
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

/** Receives a response, before undici 7. A handler that returns `false` pauses the response. */
export interface LegacyDispatchHandler {
  onConnect?(abort: (reason?: Error) => void, context?: unknown): void
  onHeaders?(status: number, headers: unknown, resume: () => void, message?: string): boolean | undefined
  onData?(chunk: Uint8Array): boolean | undefined
  onComplete?(trailers: unknown): void
  onError?(error: Error): void
}

/** The options of a request that are used here; all others are passed on. */
export interface DispatchOptions {
  readonly origin?: string | URL
  readonly path?: string
  readonly method: string
  readonly headers?: unknown
  readonly body?: unknown
  readonly upgrade?: unknown
}

/** Sends a request. Returns false if the caller should wait before it sends the next one. */
export type Dispatch = (options: DispatchOptions, handler: DispatchHandler & LegacyDispatchHandler) => boolean
