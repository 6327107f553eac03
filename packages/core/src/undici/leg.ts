import { type Clock, settled } from '../clock.js'
import { LONGEST_DRAIN, MOST_DRAINED } from '../http/discard.js'
import { MAX_PEEK_BYTES, mayBeJson, PEEK_TIMEOUT_MS } from '../http/failure-code.js'
import { decodedText } from './coding.js'
import type { DispatchController, DispatchHandler, DispatchHeaders, OldDispatchHandler } from './dispatch.js'
import { parsed } from './headers.js'
import { OldController } from './old-controller.js'

/** The head of an answer. */
export interface Head {
  readonly status: number
  readonly headers: DispatchHeaders
  readonly message: string | undefined
  readonly raw: unknown
}

/** The head of an answer, and the attempt that it came by. */
export interface LegAnswer extends Head {
  readonly leg: Leg
}

/** Who hears of the rest of an answer, once it is decided that it is the one. */
export interface Receiver {
  data(chunk: Uint8Array): void
  end(trailers: DispatchHeaders, raw: unknown): void
  error(error: Error): void
}

/** What became of an attempt's answer beyond its head. */
type End = { trailers: DispatchHeaders; raw: unknown } | { error: Error }

/**
 * One attempt, as undici hears of it. The answer is kept from the head on until somebody takes or discards it: paused
 * where that may last (`pauses`), else only for the rest of the turn, so that what is kept is what was read in one go.
 */
export class Leg implements DispatchHandler, OldDispatchHandler {
  readonly answer: Promise<LegAnswer>
  /** Heads of 1xx, which came before. */
  readonly infos: Head[] = []
  controller: DispatchController | undefined
  private resolve!: (answer: LegAnswer) => void
  private reject!: (error: unknown) => void
  private readonly pauses: (status: number) => boolean
  private readonly started: (context: unknown) => void
  private headers: DispatchHeaders | undefined
  private readonly kept: Uint8Array[] = []
  private ended: End | undefined
  private receiver: Receiver | undefined
  private reason: Error | undefined
  /** Hears that more of the answer was kept, or that it ended. */
  private onKept: (() => void) | undefined

  constructor(pauses: (status: number) => boolean, started: (context: unknown) => void) {
    this.pauses = pauses
    this.started = started
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.controller = controller
    if (this.reason === undefined) this.started(context)
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
      this.infos.push(head)
      return
    }
    this.headers = headers
    if (this.pauses(status)) controller.pause()
    this.resolve({ ...head, leg: this })
  }

  onResponseData(_: DispatchController, chunk: Uint8Array): void {
    if (this.receiver !== undefined) this.receiver.data(chunk)
    else {
      this.kept.push(chunk)
      this.onKept?.()
    }
  }

  onResponseEnd(controller: DispatchController, trailers: DispatchHeaders): void {
    this.ended = { trailers, raw: controller.rawTrailers }
    this.onKept?.()
    this.receiver?.end(trailers, controller.rawTrailers)
  }

  onResponseError(_: DispatchController | undefined, error: Error): void {
    this.ended = { error }
    this.reject(error)
    this.onKept?.()
    this.receiver?.error(error)
  }

  onConnect(abort: (reason?: Error) => void, context?: unknown): void {
    this.onRequestStart(new OldController(abort), context)
  }

  onHeaders(status: number, raw: unknown, resume: () => void, message?: string): boolean {
    const controller = this.controller as OldController
    controller.goOn = resume
    controller.rawHeaders = raw
    this.onResponseStart(controller, status, parsed(raw), message)
    return !controller.paused
  }

  onData(chunk: Uint8Array): boolean {
    const controller = this.controller as OldController
    this.onResponseData(controller, chunk)
    return !controller.paused
  }

  onComplete(raw: unknown): void {
    const controller = this.controller as OldController
    controller.rawTrailers = raw
    this.onResponseEnd(controller, parsed(raw))
  }

  onError(error: Error): void {
    this.onResponseError(this.controller, error)
  }

  /** Hands over what was kept, and everything that follows as it comes. */
  give(receiver: Receiver): void {
    this.receiver = receiver
    for (const chunk of this.kept.splice(0)) receiver.data(chunk)
    if (this.ended === undefined) return
    if ('error' in this.ended) receiver.error(this.ended.error)
    else receiver.end(this.ended.trailers, this.ended.raw)
  }

  /** Reads the beginning of the answer's body where it may be JSON, and keeps it for whoever takes the answer. */
  async peekText(clock: Clock, signal: AbortSignal): Promise<string> {
    const { controller, kept, headers } = this
    const coding = headers?.['content-encoding']
    const isEnough = () =>
      this.ended !== undefined ||
      kept.reduce((size, { byteLength }) => size + byteLength, 0) >= MAX_PEEK_BYTES ||
      (coding === undefined && !mayBeJson(new TextDecoder().decode(kept[0])))
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
      if (this.ended === undefined && this.receiver === undefined) controller?.pause()
    }
    return decodedText(kept, coding, MAX_PEEK_BYTES)
  }

  /** Ends it, as soon as it has begun. */
  abort(reason: Error): void {
    this.reason ??= reason
    this.controller?.abort(reason)
  }

  /** Reads the rest of the answer for nobody, so that its connection can be used again, or ends it where that lasts. */
  async discard(clock: Clock): Promise<void> {
    if (this.ended !== undefined) return settled()
    const { controller, headers } = this
    const unwanted = new Error('The answer was not wanted')
    let left = Number(headers?.['content-length']) > MOST_DRAINED ? 0 : MOST_DRAINED
    if (left === 0) {
      this.abort(unwanted)
      return
    }
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(() => this.abort(unwanted), LONGEST_DRAIN)
      const done = () => {
        clock.clearTimer(timer)
        resolve()
      }
      this.give({
        data: ({ byteLength }) => {
          left -= byteLength
          if (left < 0) this.abort(unwanted)
        },
        end: done,
        error: done,
      })
      controller?.resume()
    })
    // A connection is free a turn after its answer was read.
    return settled()
  }
}
