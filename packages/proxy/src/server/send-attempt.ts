import type { Attempt } from 'holdfast'
import { AttemptContext, RETRYABLE_CLIENT_STATUSES } from 'holdfast/internal'
import type { Dispatcher } from 'undici'
import { isBodiless, isBodilessLengthError } from '../connect/bodiless.js'
import { parseResponseHead } from './headers.js'
import {
  MAX_BUFFERED_BYTES,
  RetryableStatusError,
  StatusResult,
  UpstreamResponse,
} from './upstream-response.js'

/** The state that all attempts of one call share. */
export class RequestState {
  /** Whether the request can be sent more than once. */
  readonly isRepeatable: boolean
  /** Whether the request was sent: from then on it may have arrived. */
  hasSent = false
  /** The outcome of the last attempt that sent the request. */
  lastOutcome: unknown = undefined
  /** The responses of failed attempts, with the numbers of the attempts. */
  private readonly failedResponses: { readonly number: number; readonly response: UpstreamResponse }[] = []

  constructor(isRepeatable: boolean) {
    this.isRepeatable = isRepeatable
  }

  /** Marks the request as sent. @throws AlreadySentError where it was sent and must not be sent again */
  markSending(): void {
    this.assertSendable()
    this.hasSent = true
  }

  /** @throws AlreadySentError where the request was sent and must not be sent again */
  assertSendable(): void {
    if (this.hasSent && !this.isRepeatable) throw new AlreadySentError()
  }

  keepResponse(number: number, response: UpstreamResponse): void {
    this.failedResponses.push({ number, response })
  }

  /** Discards the responses of attempts before this one, except the one that is delivered. */
  discardBefore(number: number, delivered?: UpstreamResponse): void {
    for (const failed of this.failedResponses.splice(0))
      if (failed.number >= number) this.failedResponses.push(failed)
      else if (failed.response !== delivered) failed.response.discard()
  }
}

/** A body with more chunks than this is streamed to the client, so that a slow body does not delay it. */
const MAX_BUFFERED_CHUNKS = 32

/** The request was sent and must not be sent again. */
export class AlreadySentError extends TypeError {
  constructor() {
    super('the request was already sent and must not be sent again')
  }
}

/** The result of an attempt: a response, or one with an error status that the pool evaluates. */
export type AttemptResult = UpstreamResponse | StatusResult

/**
 * Sends a request once. Resolves with a response below 500. Rejects with responses whose status a policy can retry, even if
 * this request must not be repeated, because they count as failures, and with errors of the connection.
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
  /** The signal of an attempt that is not an AttemptContext. */
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
    this.listenForAbort(attempt)
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
    // A small error response is read completely before it is classified, so that its connection can be reused.
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

  /** Pauses the body until the response is delivered or discarded. */
  private pauseBody(controller: Dispatcher.DispatchController): void {
    controller.pause()
    this.settle()
  }

  private settle(): void {
    const { response, state: requestState, attempt } = this
    if (this.isSettled || response === undefined) return
    this.isSettled = true
    const { statusCode } = response
    if (response.isComplete) this.stopListening()
    if (statusCode < 400) this.resolve(response)
    else {
      requestState.keepResponse(attempt.number, response)
      const isRetryable = statusCode >= 500 || RETRYABLE_CLIENT_STATUSES.includes(statusCode)
      const result = isRetryable ? new RetryableStatusError(response) : new StatusResult(response)
      requestState.lastOutcome = result
      if (result instanceof RetryableStatusError) this.reject(result)
      else this.resolve(result)
    }
  }

  /** Aborts the request when the attempt is aborted. An AttemptContext reports it without an AbortSignal, which is slow to create. */
  private listenForAbort(attempt: Attempt): void {
    if (!(attempt instanceof AttemptContext)) {
      this.signal = attempt.signal
      if (this.signal.aborted) this.abort(this.signal.reason)
      else this.signal.addEventListener('abort', this.onSignal, { once: true })
    } else if (attempt.aborted) this.abort(attempt.signal.reason)
    else attempt.onAbort = (reason) => this.abort(reason)
  }

  private stopListening(): void {
    if (this.attempt instanceof AttemptContext) this.attempt.onAbort = undefined
    else this.signal?.removeEventListener('abort', this.onSignal)
  }

  private abort(reason: unknown): void {
    this.fail(reason instanceof Error ? reason : new Error(String(reason)))
    this.controller?.abort(reason as Error)
  }

  private fail(error: Error): void {
    this.stopListening()
    if (this.isSettled) return
    this.isSettled = true
    if (!(error instanceof AlreadySentError)) this.state.lastOutcome = error
    this.reject(error)
  }
}
