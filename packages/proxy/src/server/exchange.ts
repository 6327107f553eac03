import type { Attempt } from 'holdfast'
import { AttemptContext } from 'holdfast/internal'
import type { Dispatcher } from 'undici'
import { isBodiless, isWhole } from '../connect/bodiless.js'
import { Answer, FailedAnswer, JudgedAnswer, WHOLE } from './answer.js'
import { readResponse } from './head.js'

/** What all attempts of one call have in common. */
export class Sending {
  /** Whether it may be sent more than once. */
  readonly repeatable: boolean
  /** Whether a request went out: from then on it may have arrived. */
  begun = false
  /** What the last attempt came to that sent something. */
  ended: unknown = undefined
  /** Answers that failed, with the number of their attempt. */
  private readonly kept: { readonly number: number; readonly answer: Answer }[] = []

  constructor(repeatable: boolean) {
    this.repeatable = repeatable
  }

  /** Takes the leave to send. @throws AlreadySent where it was sent and may not be sent again */
  begin(): void {
    this.demand()
    this.begun = true
  }

  /** @throws AlreadySent where nothing may be sent any more */
  demand(): void {
    if (this.begun && !this.repeatable) throw new AlreadySent()
  }

  keep(number: number, answer: Answer): void {
    this.kept.push({ number, answer })
  }

  /** Gives up the answers of attempts before this one, but for the one that is wanted. */
  discardBefore(number: number, wanted?: Answer): void {
    for (const one of this.kept.splice(0))
      if (one.number >= number) this.kept.push(one)
      else if (one.answer !== wanted) one.answer.discard()
  }
}

/** Statuses below 500 that policies may retry. */
const MAY_PASS = new Set([408, 425, 429])

/** A body that comes in more pieces than this is handed on as it comes: a trickle is not waited for. */
const DROPS = 32

/** A request that was sent must not be sent again. */
export class AlreadySent extends TypeError {
  constructor() {
    super('the request was already sent and must not be sent again')
  }
}

/** What an attempt comes to: an answer, or one to be judged by its status. */
export type Outcome = Answer | JudgedAnswer

/**
 * One attempt at a request. It resolves with an answer below 500; throws those that a policy may retry, whether or not this
 * request may be repeated, because they are failures; and throws what kept it from being answered.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  sending: Sending,
  attempt: Attempt,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new Exchange(sending, attempt, resolve, reject))
  })
}

class Exchange implements Dispatcher.DispatchHandler {
  private readonly sending: Sending
  private readonly attempt: Attempt
  private readonly resolve: (outcome: Outcome) => void
  private readonly reject: (error: Error) => void
  private controller: Dispatcher.DispatchController | undefined = undefined
  private answer: Answer | undefined = undefined
  private settled = false
  /** Of an attempt that is not the engine's. */
  private signal: AbortSignal | undefined = undefined
  private readonly onSignal = (): void => this.abort(this.signal?.reason)

  constructor(
    sending: Sending,
    attempt: Attempt,
    resolve: (outcome: Outcome) => void,
    reject: (error: Error) => void,
  ) {
    this.sending = sending
    this.attempt = attempt
    this.resolve = resolve
    this.reject = reject
    this.follow(attempt)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.settled) controller.abort(new Error('the attempt has already ended'))
    else
      try {
        this.sending.begin()
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
    const { headers, contentLength } = readResponse(statusCode, controller.rawHeaders as Buffer[])
    this.answer = new Answer(statusCode, statusMessage, headers, controller)
    if (isBodiless(statusCode)) return
    // What fails is read before it is judged, as far as is sensible, so that its connection can be used again.
    if (contentLength > WHOLE || (contentLength < 0 && statusCode < 400)) this.hold(controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { answer, settled } = this
    if (answer === undefined) return
    answer.take(chunk)
    if (!settled && (answer.size > WHOLE || answer.chunks.length > DROPS)) this.hold(controller)
  }

  onResponseEnd(): void {
    this.answer?.end()
    this.settle()
  }

  onResponseError(_controller: unknown, error: Error): void {
    const { answer } = this
    if (answer !== undefined && isWhole(answer.statusCode, error)) return this.onResponseEnd()
    answer?.fail()
    this.fail(error)
  }

  /** Leaves the rest of the body where it is until somebody takes it. */
  private hold(controller: Dispatcher.DispatchController): void {
    controller.pause()
    this.settle()
  }

  private settle(): void {
    const { answer, sending, attempt } = this
    if (this.settled || answer === undefined) return
    this.settled = true
    const { statusCode } = answer
    if (answer.complete) this.unfollow()
    if (statusCode < 400) this.resolve(answer)
    else {
      sending.keep(attempt.number, answer)
      const passing = statusCode >= 500 || MAY_PASS.has(statusCode)
      const ended = passing ? new FailedAnswer(answer) : new JudgedAnswer(answer)
      sending.ended = ended
      if (ended instanceof FailedAnswer) this.reject(ended)
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
    if (this.settled) return
    this.settled = true
    if (!(error instanceof AlreadySent)) this.sending.ended = error
    this.reject(error)
  }
}
