import type { DispatchController, DispatchHandler, DispatchHeaders } from './dispatch.js'
import type { AttemptResponse, ResponseHead, ResponseReceiver } from './dispatch-attempt.js'

type ResponsePart = { chunk: Uint8Array } | { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * Forwards the chosen response to the handler and respects its backpressure. It is the handler's controller for all attempts.
 */
export class ResponseForwarder implements DispatchController, ResponseReceiver {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown = null
  rawTrailers: unknown = null
  /** Whether the handler has received the end of the response or an error. */
  private isFinished = false
  private readonly handler: DispatchHandler
  /** Called when the handler aborts before a response was forwarded. */
  private readonly onAbort: (reason: Error) => void
  private source: DispatchController | undefined
  private readonly pendingParts: ResponsePart[] = []

  constructor(handler: DispatchHandler, onAbort: (reason: Error) => void) {
    this.handler = handler
    this.onAbort = onAbort
  }

  /** Notifies the handler that its request has started. */
  start(context: unknown): void {
    this.handler.onRequestStart?.(this, context)
  }

  /** Forwards a response, with its informational heads. */
  forward({ attempt, ...head }: AttemptResponse): void {
    if (this.isFinished) return
    if (this.reason !== null) {
      attempt.abort(this.reason)
      this.onError(this.reason)
      return
    }
    this.source = attempt.controller
    try {
      for (const info of attempt.informationalHeads) this.forwardHead(info)
      this.forwardHead(head)
    } catch (error) {
      this.onHandlerError(error)
    }
    attempt.forwardTo(this)
    if (!this.paused) this.source?.resume()
  }

  onData(chunk: Uint8Array): void {
    this.enqueue({ chunk })
  }

  onEnd(trailers: DispatchHeaders, raw: unknown): void {
    this.enqueue({ trailers, raw })
  }

  /** Notifies the handler that there is no response, or that it ended early. */
  onError(error: Error): void {
    this.pendingParts.length = 0
    this.deliver({ error })
  }

  pause(): void {
    this.paused = true
    this.source?.pause()
  }

  resume(): void {
    this.paused = false
    while (this.pendingParts.length > 0 && !this.paused)
      this.deliver(this.pendingParts.shift() as ResponsePart)
    if (!this.paused) this.source?.resume()
  }

  abort(reason?: Error): void {
    if (this.aborted || this.isFinished) return
    this.aborted = true
    this.reason = reason ?? createAbortError()
    if (this.source === undefined) this.onAbort(this.reason)
    else this.source.abort(this.reason)
  }

  private forwardHead({ status, headers, message, raw }: ResponseHead): void {
    this.rawHeaders = raw
    this.handler.onResponseStart?.(this, status, headers, message)
  }

  private enqueue(part: ResponsePart): void {
    if (this.paused || this.pendingParts.length > 0) this.pendingParts.push(part)
    else this.deliver(part)
  }

  private deliver(part: ResponsePart): void {
    if (this.isFinished) return
    try {
      if ('chunk' in part) this.handler.onResponseData?.(this, part.chunk)
      else {
        this.isFinished = true
        if ('error' in part) this.handler.onResponseError?.(this, part.error)
        else {
          this.rawTrailers = part.raw
          this.handler.onResponseEnd?.(this, part.trailers)
        }
      }
    } catch (error) {
      this.onHandlerError(error)
    }
  }

  /** Reports an error that the handler threw to the handler itself, and closes the connection. */
  private onHandlerError(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    if (!this.isFinished) this.onError(error)
    this.source?.abort(error)
  }
}

/** The error that undici uses for an abort without a reason. */

const createAbortError = (): Error =>
  Object.assign(new Error('Request aborted'), { name: 'AbortError', code: 'UND_ERR_ABORTED' })
