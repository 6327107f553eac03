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

/** The head of a response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: DispatchHeaders
  readonly message: string | undefined
  readonly raw: unknown
}

/** The head of a response, and the attempt that received it. */
export interface AttemptResponse extends ResponseHead {
  readonly attempt: DispatchAttempt
}

/** Receives the body and the end of a response after it has been chosen. */
export interface ResponseReceiver {
  onData(chunk: Uint8Array): void
  onEnd(trailers: DispatchHeaders, raw: unknown): void
  onError(error: Error): void
}

/** The end of a response: its trailers, or an error. */
type ResponseEnd = { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * The handler of one attempt. It buffers the response until `forwardTo` or `discard` is called. If the decision can take long
 * (`shouldPause`), the response is paused; otherwise only data that arrives in the same macrotask is buffered.
 */
export class DispatchAttempt implements DispatchHandler, LegacyDispatchHandler {
  readonly response: Promise<AttemptResponse>
  /** The heads of 1xx responses that preceded the final one. */
  readonly informationalHeads: ResponseHead[] = []
  controller: DispatchController | undefined
  private resolve!: (response: AttemptResponse) => void
  private reject!: (error: unknown) => void
  private readonly shouldPause: (status: number) => boolean
  private readonly onStarted: (context: unknown) => void
  private headers: DispatchHeaders | undefined
  private readonly chunks: Uint8Array[] = []
  private end: ResponseEnd | undefined
  private receiver: ResponseReceiver | undefined
  private abortReason: Error | undefined
  /** Called when a chunk was buffered or the response ended. */
  private onBuffered: (() => void) | undefined

  constructor(shouldPause: (status: number) => boolean, onStarted: (context: unknown) => void) {
    this.shouldPause = shouldPause
    this.onStarted = onStarted
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.controller = controller
    if (this.abortReason === undefined) this.onStarted(context)
    else controller.abort(this.abortReason)
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
      this.onBuffered?.()
    }
  }

  onResponseEnd(controller: DispatchController, trailers: DispatchHeaders): void {
    this.end = { trailers, raw: controller.rawTrailers }
    this.onBuffered?.()
    this.receiver?.onEnd(trailers, controller.rawTrailers)
  }

  onResponseError(_: DispatchController | undefined, error: Error): void {
    this.end = { error }
    this.reject(error)
    this.onBuffered?.()
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

  /** Forwards the buffered part of the response, and the rest as it arrives. */
  forwardTo(receiver: ResponseReceiver): void {
    this.receiver = receiver
    for (const chunk of this.chunks.splice(0)) receiver.onData(chunk)
    if (this.end === undefined) return
    if ('error' in this.end) receiver.onError(this.end.error)
    else receiver.onEnd(this.end.trailers, this.end.raw)
  }

  /** Reads the beginning of the body if it can be JSON. It remains buffered for `forwardTo`. */
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
        this.onBuffered = () => {
          if (isEnough()) finish()
        }
        signal.addEventListener('abort', finish)
        controller?.resume()
      })
      this.onBuffered = undefined
      if (this.end === undefined && this.receiver === undefined) controller?.pause()
    }
    return decodeBodyText(chunks, coding, MAX_PEEK_BYTES)
  }

  /** Aborts the attempt, or as soon as it has started. */
  abort(reason: Error): void {
    this.abortReason ??= reason
    this.controller?.abort(reason)
  }

  /** Reads and drops the rest of the response, so that its connection can be reused, or aborts it when that takes long. */
  async discard(clock: Clock): Promise<void> {
    if (this.end !== undefined) return nextMacrotask()
    const { controller, headers } = this
    const discardReason = new Error('The response is not used')
    let remainingBytes = Number(headers?.['content-length']) > MAX_DRAIN_BYTES ? 0 : MAX_DRAIN_BYTES
    if (remainingBytes === 0) {
      this.abort(discardReason)
      return
    }
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(() => this.abort(discardReason), MAX_DRAIN_MS)
      const finish = () => {
        clock.clearTimer(timer)
        resolve()
      }
      this.forwardTo({
        onData: ({ byteLength }) => {
          remainingBytes -= byteLength
          if (remainingBytes < 0) this.abort(discardReason)
        },
        onEnd: finish,
        onError: finish,
      })
      controller?.resume()
    })
    // A connection is free one macrotask after its response was read.
    return nextMacrotask()
  }
}
