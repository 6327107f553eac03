import type { DispatchController, DispatchHandler, DispatchHeaders } from './dispatch.js'
import type { Head, LegAnswer, Receiver } from './leg.js'

type Item = { chunk: Uint8Array } | { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * What the waiting handler is given: one controller for all attempts, and the one answer that is for it, no faster than
 * it takes it.
 */
export class Delivery implements DispatchController, Receiver {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown = null
  rawTrailers: unknown = null
  /** Whether the handler has been told how it ended. */
  private over = false
  private readonly handler: DispatchHandler
  /** Called where the handler aborts before there is an answer for it. */
  private readonly onAbort: (reason: Error) => void
  private source: DispatchController | undefined
  private readonly waiting: Item[] = []

  constructor(handler: DispatchHandler, onAbort: (reason: Error) => void) {
    this.handler = handler
    this.onAbort = onAbort
  }

  /** Tells the handler that its request is on its way. */
  start(context: unknown): void {
    this.handler.onRequestStart?.(this, context)
  }

  /** Hands an answer over: from here on it is the handler's. */
  take({ leg, ...head }: LegAnswer): void {
    if (this.over) return
    if (this.reason !== null) {
      leg.abort(this.reason)
      this.error(this.reason)
      return
    }
    this.source = leg.controller
    try {
      for (const info of leg.infos) this.head(info)
      this.head(head)
    } catch (error) {
      this.broken(error)
    }
    leg.give(this)
    if (!this.paused) this.source?.resume()
  }

  data(chunk: Uint8Array): void {
    this.pass({ chunk })
  }

  end(trailers: DispatchHeaders, raw: unknown): void {
    this.pass({ trailers, raw })
  }

  /** Tells the handler that there is no answer, or no more of it. */
  error(error: Error): void {
    this.waiting.length = 0
    this.tell({ error })
  }

  pause(): void {
    this.paused = true
    this.source?.pause()
  }

  resume(): void {
    this.paused = false
    while (this.waiting.length > 0 && !this.paused) this.tell(this.waiting.shift() as Item)
    if (!this.paused) this.source?.resume()
  }

  abort(reason?: Error): void {
    if (this.aborted || this.over) return
    this.aborted = true
    this.reason = reason ?? aborted()
    if (this.source === undefined) this.onAbort(this.reason)
    else this.source.abort(this.reason)
  }

  private head({ status, headers, message, raw }: Head): void {
    this.rawHeaders = raw
    this.handler.onResponseStart?.(this, status, headers, message)
  }

  private pass(item: Item): void {
    if (this.paused || this.waiting.length > 0) this.waiting.push(item)
    else this.tell(item)
  }

  private tell(item: Item): void {
    if (this.over) return
    try {
      if ('chunk' in item) this.handler.onResponseData?.(this, item.chunk)
      else {
        this.over = true
        if ('error' in item) this.handler.onResponseError?.(this, item.error)
        else {
          this.rawTrailers = item.raw
          this.handler.onResponseEnd?.(this, item.trailers)
        }
      }
    } catch (error) {
      this.broken(error)
    }
  }

  /** The handler threw: it hears of that as of any other error, and the connection goes. */
  private broken(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    if (!this.over) this.error(error)
    this.source?.abort(error)
  }
}

/** What undici makes of an abort without a reason. */
const aborted = (): Error =>
  Object.assign(new Error('Request aborted'), { name: 'AbortError', code: 'UND_ERR_ABORTED' })
