import { type Clock, nextMacrotask } from '../clock.js'
import { MAX_DRAIN_BYTES, MAX_DRAIN_MS } from '../http/discard.js'
import { canBeJson, MAX_PEEK_BYTES, PEEK_TIMEOUT_MS } from '../http/failure-code.js'
import { decodeBodyText } from './content-coding.js'
import type {
  DispatchController,
  DispatchHandler,
  DispatchHeaders,
  LegacyDispatchHandler,
} from './dispatch.js'
import { parseRawHeaders } from './headers.js'
import { LegacyController } from './legacy-controller.js'

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number
  readonly headers: DispatchHeaders
  readonly message: string | undefined
  readonly raw: unknown
}

/** The head of an answer, and the attempt that it came by. */
export interface AttemptResponse extends ResponseHead {
  readonly attempt: DispatchAttempt
}

/** Who hears of the rest of an answer, once it is decided that it is the one. */
export interface ResponseReceiver {
  onData(chunk: Uint8Array): void
  onEnd(trailers: DispatchHeaders, raw: unknown): void
  onError(error: Error): void
}

/** What became of an attempt's answer beyond its head. */
type ResponseEnd = { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * One attempt, as undici hears of it. The answer is kept from the head on until somebody takes or discards it: paused
 * where that may last (`shouldPause`), else only for the rest of the turn, so that what is kept is what was read in one go.
 */
export class DispatchAttempt implements DispatchHandler, LegacyDispatchHandler {
  readonly response: Promise<AttemptResponse>
  /** Heads of 1xx, which came before. */
  readonly informationalHeads: ResponseHead[] = []
  controller: DispatchController | undefined
  private resolve!: (answer: AttemptResponse) => void
  private reject!: (error: unknown) => void
  private readonly shouldPause: (status: number) => boolean
  private readonly onStarted: (context: unknown) => void
  private headers: DispatchHeaders | undefined
  private readonly chunks: Uint8Array[] = []
  private end: ResponseEnd | undefined
  private receiver: ResponseReceiver | undefined
  private reason: Error | undefined
  /** Hears that more of the answer was kept, or that it ended. */
  private onKept: (() => void) | undefined

  constructor(pauses: (status: number) => boolean, started: (context: unknown) => void) {
    this.shouldPause = pauses
    this.onStarted = started
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.controller = controller
    if (this.reason === undefined) this.onStarted(context)
    else controller.abort(this.reason)
  }

  onResponseStart(
    controller: DispatchController,
    status: number,
    headers: DispatchHeaders,
    message?: string,
  ): void {
    const head = { status, headers, message, raw: controller.rawHeaders }
    if (status < 200) {
      this.informationalHeads.push(head)
      return
    }
    this.headers = headers
    if (this.shouldPause(status)) controller.pause()
    this.resolve({ ...head, attempt: this })
  }

  onResponseData(_: DispatchController, chunk: Uint8Array): void {
    if (this.receiver !== undefined) this.receiver.onData(chunk)
    else {
      this.chunks.push(chunk)
      this.onKept?.()
    }
  }

  onResponseEnd(controller: DispatchController, trailers: DispatchHeaders): void {
    this.end = { trailers, raw: controller.rawTrailers }
    this.onKept?.()
    this.receiver?.onEnd(trailers, controller.rawTrailers)
  }

  onResponseError(_: DispatchController | undefined, error: Error): void {
    this.end = { error }
    this.reject(error)
    this.onKept?.()
    this.receiver?.onError(error)
  }

  onConnect(abort: (reason?: Error) => void, context?: unknown): void {
    this.onRequestStart(new LegacyController(abort), context)
  }

  onHeaders(status: number, raw: unknown, resume: () => void, message?: string): boolean {
    const controller = this.controller as LegacyController
    controller.resumeUpstream = resume
    controller.rawHeaders = raw
    this.onResponseStart(controller, status, parseRawHeaders(raw), message)
    return !controller.paused
  }

  onData(chunk: Uint8Array): boolean {
    const controller = this.controller as LegacyController
    this.onResponseData(controller, chunk)
    return !controller.paused
  }

  onComplete(raw: unknown): void {
    const controller = this.controller as LegacyController
    controller.rawTrailers = raw
    this.onResponseEnd(controller, parseRawHeaders(raw))
  }

  onError(error: Error): void {
    this.onResponseError(this.controller, error)
  }

  /** Hands over what was kept, and everything that follows as it comes. */
  forwardTo(receiver: ResponseReceiver): void {
    this.receiver = receiver
    for (const chunk of this.chunks.splice(0)) receiver.onData(chunk)
    if (this.end === undefined) return
    if ('error' in this.end) receiver.onError(this.end.error)
    else receiver.onEnd(this.end.trailers, this.end.raw)
  }

  /** Reads the beginning of the answer's body where it may be JSON, and keeps it for whoever takes the answer. */
  async peekText(clock: Clock, signal: AbortSignal): Promise<string> {
    const { controller, chunks, headers } = this
    const coding = headers?.['content-encoding']
    const isEnough = () =>
      this.end !== undefined ||
      chunks.reduce((size, { byteLength }) => size + byteLength, 0) >= MAX_PEEK_BYTES ||
      (coding === undefined && !canBeJson(new TextDecoder().decode(chunks[0])))
    if (!isEnough()) {
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(resolve, PEEK_TIMEOUT_MS)
        const finish = () => {
          clock.clearTimer(timer)
          resolve()
        }
        this.onKept = () => {
          if (isEnough()) finish()
        }
        signal.addEventListener('abort', finish)
        controller?.resume()
      })
      this.onKept = undefined
      if (this.end === undefined && this.receiver === undefined) controller?.pause()
    }
    return decodeBodyText(chunks, coding, MAX_PEEK_BYTES)
  }

  /** Ends it, as soon as it has begun. */
  abort(reason: Error): void {
    this.reason ??= reason
    this.controller?.abort(reason)
  }

  /** Reads the rest of the answer for nobody, so that its connection can be used again, or ends it where that lasts. */
  async discard(clock: Clock): Promise<void> {
    if (this.end !== undefined) return nextMacrotask()
    const { controller, headers } = this
    const discardReason = new Error('The answer was not wanted')
    let remainingBytes = Number(headers?.['content-length']) > MAX_DRAIN_BYTES ? 0 : MAX_DRAIN_BYTES
    if (remainingBytes === 0) {
      this.abort(discardReason)
      return
    }
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(() => this.abort(discardReason), MAX_DRAIN_MS)
      const done = () => {
        clock.clearTimer(timer)
        resolve()
      }
      this.forwardTo({
        onData: ({ byteLength }) => {
          remainingBytes -= byteLength
          if (remainingBytes < 0) this.abort(discardReason)
        },
        onEnd: done,
        onError: done,
      })
      controller?.resume()
    })
    // A connection is free a turn after its answer was read.
    return nextMacrotask()
  }
}
