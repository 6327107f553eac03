import type { Attempt } from 'holdfast'
import { AttemptContext } from 'holdfast/internal'
import type { Dispatcher } from 'undici'
import { isBodiless, isBodilessLengthError } from '../connect/bodiless.js'
import { parseResponseHead } from './headers.js'
import {
  MAX_BUFFERED_BYTES,
  RetryableStatusError,
  StatusResult,
  UpstreamResponse,
} from './upstream-response.js'

/** What all attempts of one call have in common. */
export class RequestState {
  /** Whether it may be sent more than once. */
  readonly isRepeatable: boolean
  /** Whether a request went out: from then on it may have arrived. */
  hasSent = false
  /** What the last attempt came to that sent something. */
  lastOutcome: unknown = undefined
  /** Answers that failed, with the number of their attempt. */
  private readonly failedResponses: { readonly number: number; readonly answer: UpstreamResponse }[] = []

  constructor(repeatable: boolean) {
    this.isRepeatable = repeatable
  }

  /** Takes the leave to send. @throws AlreadySent where it was sent and may not be sent again */
  markSending(): void {
    this.assertSendable()
    this.hasSent = true
  }

  /** @throws AlreadySent where nothing may be sent any more */
  assertSendable(): void {
    if (this.hasSent && !this.isRepeatable) throw new AlreadySentError()
  }

  keepResponse(number: number, response: UpstreamResponse): void {
    this.failedResponses.push({ number, answer: response })
  }

  /** Gives up the answers of attempts before this one, but for the one that is wanted. */
  discardBefore(number: number, wanted?: UpstreamResponse): void {
    for (const one of this.failedResponses.splice(0))
      if (one.number >= number) this.failedResponses.push(one)
      else if (one.answer !== wanted) one.answer.discard()
  }
}

/** Statuses below 500 that policies may retry. */
const RETRYABLE_CLIENT_ERRORS = new Set([408, 425, 429])

/** A body that comes in more pieces than this is handed on as it comes: a trickle is not waited for. */
const MAX_BUFFERED_CHUNKS = 32

/** A request that was sent must not be sent again. */
export class AlreadySentError extends TypeError {
  constructor() {
    super('the request was already sent and must not be sent again')
  }
}

/** What an attempt comes to: an answer, or one to be judged by its status. */
export type AttemptResult = UpstreamResponse | StatusResult

/**
 * One attempt at a request. It resolves with an answer below 500; throws those that a policy may retry, whether or not this
 * request may be repeated, because they are failures; and throws what kept it from being answered.
 */
export function sendAttempt(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  requestState: RequestState,
  attempt: Attempt,
): Promise<AttemptResult> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new AttemptHandler(requestState, attempt, resolve, reject))
  })
}

class AttemptHandler implements Dispatcher.DispatchHandler {
  private readonly state: RequestState
  private readonly attempt: Attempt
  private readonly resolve: (outcome: AttemptResult) => void
  private readonly reject: (error: Error) => void
  private controller: Dispatcher.DispatchController | undefined = undefined
  private response: UpstreamResponse | undefined = undefined
  private isSettled = false
  /** Of an attempt that is not the engine's. */
  private signal: AbortSignal | undefined = undefined
  private readonly onSignal = (): void => this.abort(this.signal?.reason)

  constructor(
    requestState: RequestState,
    attempt: Attempt,
    resolve: (outcome: AttemptResult) => void,
    reject: (error: Error) => void,
  ) {
    this.state = requestState
    this.attempt = attempt
    this.resolve = resolve
    this.reject = reject
    this.follow(attempt)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isSettled) controller.abort(new Error('the attempt has already ended'))
    else
      try {
        this.state.markSending()
      } catch (error) {
        controller.abort(error as Error)
      }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    _headers: unknown,
    statusMessage = '',
  ): void {
    if (statusCode === 101) return controller.abort(new Error('unexpected status 101'))
    if (statusCode < 200) return
    const { headers, contentLength } = parseResponseHead(statusCode, controller.rawHeaders as Buffer[])
    this.response = new UpstreamResponse(statusCode, statusMessage, headers, controller)
    if (isBodiless(statusCode)) return
    // What fails is read before it is judged, as far as is sensible, so that its connection can be used again.
    if (contentLength > MAX_BUFFERED_BYTES || (contentLength < 0 && statusCode < 400))
      this.pauseBody(controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response, isSettled } = this
    if (response === undefined) return
    response.onChunk(chunk)
    if (!isSettled && (response.size > MAX_BUFFERED_BYTES || response.chunks.length > MAX_BUFFERED_CHUNKS))
      this.pauseBody(controller)
  }

  onResponseEnd(): void {
    this.response?.onEnd()
    this.settle()
  }

  onResponseError(_controller: unknown, error: Error): void {
    const { response } = this
    if (response !== undefined && isBodilessLengthError(response.statusCode, error))
      return this.onResponseEnd()
    response?.onFailure()
    this.fail(error)
  }

  /** Leaves the rest of the body where it is until somebody takes it. */
  private pauseBody(controller: Dispatcher.DispatchController): void {
    controller.pause()
    this.settle()
  }

  private settle(): void {
    const { response, state: requestState, attempt } = this
    if (this.isSettled || response === undefined) return
    this.isSettled = true
    const { statusCode } = response
    if (response.isComplete) this.unfollow()
    if (statusCode < 400) this.resolve(response)
    else {
      requestState.keepResponse(attempt.number, response)
      const isRetryable = statusCode >= 500 || RETRYABLE_CLIENT_ERRORS.has(statusCode)
      const ended = isRetryable ? new RetryableStatusError(response) : new StatusResult(response)
      requestState.lastOutcome = ended
      if (ended instanceof RetryableStatusError) this.reject(ended)
      else this.resolve(ended)
    }
  }

  /** Ends the exchange when the attempt is aborted. An attempt of the engine tells that without a signal, which is slow to make. */
  private follow(attempt: Attempt): void {
    if (!(attempt instanceof AttemptContext)) {
      this.signal = attempt.signal
      if (this.signal.aborted) this.abort(this.signal.reason)
      else this.signal.addEventListener('abort', this.onSignal, { once: true })
    } else if (attempt.aborted) this.abort(attempt.signal.reason)
    else attempt.onAbort = (reason) => this.abort(reason)
  }

  private unfollow(): void {
    if (this.attempt instanceof AttemptContext) this.attempt.onAbort = undefined
    else this.signal?.removeEventListener('abort', this.onSignal)
  }

  private abort(reason: unknown): void {
    this.fail(reason instanceof Error ? reason : new Error(String(reason)))
    this.controller?.abort(reason as Error)
  }

  private fail(error: Error): void {
    this.unfollow()
    if (this.isSettled) return
    this.isSettled = true
    if (!(error instanceof AlreadySentError)) this.state.lastOutcome = error
    this.reject(error)
  }
}
