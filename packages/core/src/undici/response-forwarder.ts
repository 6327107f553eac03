import type { DispatchController, DispatchHandler, DispatchHeaders } from './dispatch.js'
import type { AttemptResponse, ResponseHead, ResponseReceiver } from './dispatch-attempt.js'

type ResponsePart = { chunk: Uint8Array } | { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * What the waiting handler is given: one controller for all attempts, and the one answer that is for it, no faster than
 * it takes it.
 */
export class ResponseForwarder implements DispatchController, ResponseReceiver {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown = null
  rawTrailers: unknown = null
  /** Whether the handler has been told how it ended. */
  private isFinished = false
  private readonly handler: DispatchHandler
  /** Called where the handler aborts before there is an answer for it. */
  private readonly onAbort: (reason: Error) => void
  private source: DispatchController | undefined
  private readonly pendingParts: ResponsePart[] = []

  constructor(handler: DispatchHandler, onAbort: (reason: Error) => void) {
    this.handler = handler
    this.onAbort = onAbort
  }

  /** Tells the handler that its request is on its way. */
  start(context: unknown): void {
    this.handler.onRequestStart?.(this, context)
  }

  /** Hands an answer over: from here on it is the handler's. */
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

  /** Tells the handler that there is no answer, or no more of it. */
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

  private enqueue(item: ResponsePart): void {
    if (this.paused || this.pendingParts.length > 0) this.pendingParts.push(item)
    else this.deliver(item)
  }

  private deliver(item: ResponsePart): void {
    if (this.isFinished) return
    try {
      if ('chunk' in item) this.handler.onResponseData?.(this, item.chunk)
      else {
        this.isFinished = true
        if ('error' in item) this.handler.onResponseError?.(this, item.error)
        else {
          this.rawTrailers = item.raw
          this.handler.onResponseEnd?.(this, item.trailers)
        }
      }
    } catch (error) {
      this.onHandlerError(error)
    }
  }

  /** The handler threw: it hears of that as of any other error, and the connection goes. */
  private onHandlerError(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    if (!this.isFinished) this.onError(error)
    this.source?.abort(error)
  }
}

/** What undici makes of an abort without a reason. */
const createAbortError = (): Error =>
  Object.assign(new Error('Request aborted'), { name: 'AbortError', code: 'UND_ERR_ABORTED' })
