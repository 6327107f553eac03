import type { AttemptContext, PooledAttempt } from '../execution/attempt.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { canSendBody, type FetchBody, isOneShot } from './body.js'
import { abortBodyOnSignal } from './body-abort.js'
import { targetOf } from './check-target.js'
import { createFetchContext, type FetchContext } from './context.js'
import type { FetchInit } from './create-fetch.js'
import { discardBody } from './discard.js'
import { addFailureCode, hasErrorNames, peekText } from './failure-code.js'
import { hasHeader } from './headers.js'
import {
  createIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  isIdempotentMethod,
  isSafeMethod,
  wasNotProcessed,
  wasNotSent,
} from './idempotency.js'
import type { FetchFunction, RequestPolicy } from './options.js'
import { followRedirects, hasOtherHeaders } from './redirects.js'
import type { ReplayableRequest } from './replay-safe-pool.js'
import type { RequestExecutor } from './request-executor.js'
import { StatusError } from './status-error.js'
import { toStatusFailure } from './status-failure.js'
import {
  type FetchInput,
  type FetchTarget,
  isRequest,
  parseUrl,
  requestInitOf,
  withOrigin,
} from './target.js'

/** What all requests of a fetch share. */
export interface FetchRuntime {
  readonly executor: RequestExecutor
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
  /** Errors that stand for an answer which is to be returned. */
  readonly returnedErrors: WeakSet<object>
}

/** One request through all its attempts: what is sent, whether it may be sent again, and which answer is unread. */
export class FetchExecution implements ReplayableRequest {
  readonly context: FetchContext
  readonly signal: AbortSignal | undefined
  /** Whether two of it at a time do no harm. */
  readonly isHedgeable: boolean
  private readonly runtime: FetchRuntime
  private readonly input: FetchInput
  private readonly init: RequestInit
  private readonly body: FetchBody
  private readonly retry: CompiledRetryPolicy
  private readonly retryStatusCodes: ReadonlySet<number> | undefined
  private readonly notProcessed: ReadonlySet<number>
  /** Whether it does no harm that it arrives again. */
  private readonly isRepeatSafe: boolean
  /** Whether attempts send copies of a Request, whose body they could not send twice. */
  private readonly sendsCopies: boolean
  /** Where the last attempt went by itself; undefined where somebody else connects. */
  private url: FetchInput | undefined
  /** Whether the last attempt was redirected, so that it has arrived whatever became of it. */
  private isRedirected = false
  /** The last answer, as long as it is not certain that it is the one to hand over. */
  private pendingResponse: Response | undefined
  /** Other answers to a hedged request, until one of them has won. */
  private losingResponses: Response[] | undefined
  /** The attempt whose answers these are. */
  private attemptNumber = 0

  constructor(
    sender: FetchRuntime,
    { rules }: RequestPolicy,
    retry: CompiledRetryPolicy,
    input: FetchInput,
    given: FetchInit,
  ) {
    const { context, body } = given
    const init = toRequestInit(given)
    const request = isRequest(input) ? input : undefined
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
    this.runtime = sender
    this.input = input
    this.retry = retry
    this.retryStatusCodes = rules.retryStatusCodes
    this.notProcessed = rules.notProcessedStatuses
    this.body = body
    this.init = init
    this.signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined
    let keyed = false
    if (!isIdempotentMethod(method) || (rules.idempotencyKey && !isSafeMethod(method))) {
      const told = init.headers ?? request?.headers
      keyed = hasHeader(told, IDEMPOTENCY_KEY_HEADER)
      if (!keyed && rules.idempotencyKey && !isSafeMethod(method)) {
        const headers = new Headers(told)
        headers.set(IDEMPOTENCY_KEY_HEADER, createIdempotencyKey(sender.executor.settings.random))
        this.init = { ...init, headers }
        keyed = true
      }
    }
    this.isRepeatSafe = keyed || rules.retryNonIdempotent || isIdempotentMethod(method)
    this.isHedgeable = this.isRepeatSafe && !isOneShot(body)
    const once = retry.maxAttempts === 1 && sender.executor.settings.hedge === undefined
    this.sendsCopies = !once && body == null && request !== undefined && request.body !== null
    const facts = createFetchContext(method, input)
    this.context = context === undefined ? facts : { ...facts, ...context }
  }

  mustNotRepeat(result: unknown): boolean {
    const { isRepeatSafe, url, body, notProcessed } = this
    const isAllowed =
      isRepeatSafe ||
      wasNotProcessed(result, notProcessed) ||
      (!this.isRedirected && wasNotSent(result, url === undefined ? undefined : parseUrl(url)))
    return !(isAllowed && canSendBody(body))
  }

  /** Makes one attempt: an answer, or a {@link StatusError} that stands for one that tells of a failure. */
  readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<Response> => {
    const { executor } = this.runtime
    if (attempt.number !== this.attemptNumber) {
      this.attemptNumber = attempt.number
      if (this.pendingResponse !== undefined) await this.discardResponses()
    }
    const context = attempt as PooledAttempt as AttemptContext
    const attemptContext = executor.canAbortAttempts ? context : undefined
    const response = await this.sendOnce(targetOf(attempt.member), context)
    const endSignal = attemptContext ?? this.signal
    if (endSignal?.aborted) {
      // Nobody waits for it any more, and whoever sent it did not hear of that.
      void discardBody(response, executor.settings.clock)
      throw (attemptContext?.signal ?? this.signal)?.reason
    }
    if (attemptContext !== undefined && this.signal !== undefined)
      abortBodyOnSignal(this.signal, response, (reason) => attemptContext.abort(reason))
    if (this.pendingResponse !== undefined) (this.losingResponses ??= []).push(this.pendingResponse)
    this.pendingResponse = response
    const failure = response.status < 400 ? undefined : await this.toResult(response, attemptContext)
    if (failure !== undefined) throw failure
    return response
  }

  /** Takes a failure of all attempts: gives the last answer where it was one, and throws it otherwise. */
  fail(error: unknown): Response {
    const response =
      error instanceof StatusError && this.isPending(error.response) ? error.response : undefined
    if (response !== undefined && this.runtime.returnedErrors.has(error as object))
      return this.finish(response)
    void this.discardResponses(response)
    this.cancelRequestBody()
    throw error
  }

  /** Takes what the request ends with. */
  finish(response: Response): Response {
    if (this.pendingResponse !== response || this.losingResponses !== undefined)
      void this.discardResponses(response)
    this.cancelRequestBody()
    return response
  }

  private isPending(response: Response): boolean {
    return this.pendingResponse === response || this.losingResponses?.includes(response) === true
  }

  /** Lets the answers go that nobody will read: all but this one. */
  private async discardResponses(except?: Response): Promise<void> {
    const { pendingResponse, losingResponses, runtime } = this
    this.pendingResponse = undefined
    this.losingResponses = undefined
    for (const response of [pendingResponse, ...(losingResponses ?? [])])
      if (response !== undefined && response !== except)
        await discardBody(response, runtime.executor.settings.clock)
  }

  /** Lets go of a Request's body, of which the attempts sent copies. */
  private cancelRequestBody(): void {
    const { input } = this
    if (this.sendsCopies && isRequest(input) && input.body?.locked === false)
      input.body.cancel().catch(() => {})
  }

  /**
   * The error that an answer of 400 or more is to the engine, or undefined where the caller is simply to have the answer.
   */
  private async toResult(
    response: Response,
    attempt: AttemptContext | undefined,
  ): Promise<StatusError | undefined> {
    const { runtime, retry, retryStatusCodes, context } = this
    const { executor } = runtime
    const { error, fails: isFailure } = toStatusFailure(response, {
      executor,
      retry,
      retryStatusCodes,
      context,
    })
    if (!runtime.throwOnStatus) runtime.returnedErrors.add(error)
    if (isFailure && hasErrorNames(retry))
      await addFailureCode(error, attempt, (signal) => peekText(response, executor.settings.clock, signal))
    return isFailure || runtime.throwOnStatus ? error : undefined
  }

  /** Sends it once, to a member of the pool where there is one. */
  private async sendOnce(target: FetchTarget | undefined, attempt: AttemptContext): Promise<Response> {
    const { body } = this
    const { origin, dispatcher } = target ?? {}
    const memberHeaders = target?.headers === undefined ? undefined : new Headers(target.headers)
    const send = target?.fetch ?? this.runtime.fetch ?? globalThis.fetch
    let { input, init } = this
    if (isRequest(input)) {
      const copy = this.sendsCopies ? input.clone() : input
      if (origin === undefined && memberHeaders === undefined) input = copy
      else {
        const ownsBody = body == null && copy.body !== null ? { body: await copy.arrayBuffer() } : undefined
        init = { ...requestInitOf(copy), ...init, ...ownsBody }
        input = origin === undefined ? copy.url : withOrigin(copy, origin)
      }
    } else if (origin !== undefined) input = withOrigin(input, origin)
    const isDirect = target?.fetch === undefined && dispatcher === undefined && !('dispatcher' in init)
    this.url = isDirect ? input : undefined
    this.isRedirected = false
    if (typeof body === 'function') {
      const freshBody = await body()
      init = { ...init, body: freshBody ?? null, ...(isOneShot(freshBody) && HALF_DUPLEX) }
    }
    if (dispatcher !== undefined) init = { ...init, dispatcher } as RequestInit
    if (this.runtime.executor.canAbortAttempts) init = withSignal(init, attempt)
    // It ended while a body was made, or the one of the response before was read.
    if (attempt.aborted) throw attempt.signal.reason
    return memberHeaders === undefined ? send(input, init) : this.sendFor(memberHeaders, send, input, init)
  }

  /** Sends it with a member's headers. */
  private sendFor(
    memberHeaders: Headers,
    send: FetchFunction,
    input: FetchInput,
    init: RequestInit,
  ): Promise<Response> {
    const callerHeaders = new Headers(init.headers)
    const headers = new Headers(callerHeaders)
    for (const [name, value] of memberHeaders) headers.set(name, value)
    const url = parseUrl(input)
    const isFollowed = (init.redirect ?? 'follow') === 'follow'
    if (url === undefined || !isFollowed || !hasOtherHeaders(memberHeaders))
      return send(input, { ...init, headers })
    const onRedirect = () => {
      this.isRedirected = true
    }
    const { clock } = this.runtime.executor.settings
    return followRedirects({
      send,
      url,
      init: { ...init, headers },
      callerHeaders,
      memberHeaders,
      clock,
      onRedirect,
    })
  }
}

/** What of a request's `init` is for fetch; most often that is all of it. */
function toRequestInit(fetchInit: FetchInit): RequestInit {
  if (
    fetchInit.context === undefined &&
    fetchInit.retry === undefined &&
    typeof fetchInit.body !== 'function'
  )
    return fetchInit as RequestInit
  const { context: _, retry: __, body, ...init } = fetchInit
  return typeof body === 'function' || body === undefined ? init : { ...init, body }
}

/** What fetch asks for where a body is a stream. */
const HALF_DUPLEX = { duplex: 'half' }

/** What a request is sent with, and the signal of its attempt, which is made when it is read: few things cost as much. */
function withSignal(init: RequestInit, attemptContext: AttemptContext): RequestInit {
  return {
    ...init,
    get signal() {
      return attemptContext.signal
    },
  }
}
