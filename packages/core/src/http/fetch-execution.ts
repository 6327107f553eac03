import type { AttemptContext, PooledAttempt } from '../attempt/attempt.js'
import type { Classification } from '../classify/classification.js'
import type { CallTimeouts } from '../execution/hooks.js'
import type { TimeoutOptions } from '../guard/options.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { transferSession } from '../session/session.js'
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
import type { FetchFunction, HttpRetryRules, RequestPolicy } from './options.js'
import { followRedirects, hasOtherHeaders } from './redirects.js'
import type { ReplayableRequest } from './replay-safe-pool.js'
import type { RequestRunner } from './request-executor.js'
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

/** The data that all requests of a fetch share. */
export interface FetchRuntime {
  readonly executor: RequestRunner
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
  /** The errors whose response is returned to the caller instead of thrown. */
  readonly returnedErrors: WeakSet<object>
}

/** One request with all its attempts: what is sent, whether it can be sent again, and which responses are unread. */
export class FetchExecution implements ReplayableRequest {
  readonly signal: AbortSignal | undefined
  /** Whether two attempts can run at the same time. */
  readonly isHedgeable: boolean
  private readonly runtime: FetchRuntime
  /** Whether an attempt can be aborted before its response, so that it needs a signal. */
  private readonly canAbortAttempts: boolean
  readonly method: string
  private readonly callerContext: object | undefined
  private ownContext: FetchContext | undefined
  readonly input: FetchInput
  private readonly init: RequestInit
  readonly body: FetchBody
  private readonly retry: CompiledRetryPolicy
  private readonly rules: HttpRetryRules
  /** Whether the method or a key makes it safe if the request arrives more than once. */
  private readonly isIdempotent: boolean
  /** Whether attempts send clones of a Request, because its body can be sent only once. */
  private readonly shouldCloneRequest: boolean
  /** The URL of the last attempt; undefined if a custom fetch or dispatcher connects, possibly to another host. */
  private url: FetchInput | undefined
  /** Whether the last attempt was redirected, so that it has reached a server. */
  private isRedirected = false
  /** The last response, until it is decided whether it is returned. */
  private pendingResponse: Response | undefined
  /** Other responses to a hedged request, until one of them has won. */
  private losingResponses: Response[] | undefined
  /** The attempt that these responses belong to. */
  private attemptNumber = 0

  constructor(
    runtime: FetchRuntime,
    { rules }: RequestPolicy,
    retry: CompiledRetryPolicy,
    timeouts: CallTimeouts | undefined,
    input: FetchInput,
    fetchInit: FetchInit,
  ) {
    const { context, body } = fetchInit
    const init = toRequestInit(fetchInit)
    const request = isRequest(input) ? input : undefined
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
    this.runtime = runtime
    this.canAbortAttempts = runtime.executor.canAbortWith(timeouts)
    this.input = input
    this.retry = retry
    this.rules = rules
    this.body = body
    this.init = init
    this.signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined
    let hasIdempotencyKey = false
    if (!isIdempotentMethod(method) || (rules.idempotencyKey && !isSafeMethod(method))) {
      const callerHeaders = init.headers ?? request?.headers
      hasIdempotencyKey = hasHeader(callerHeaders, IDEMPOTENCY_KEY_HEADER)
      if (!hasIdempotencyKey && rules.idempotencyKey && !isSafeMethod(method)) {
        const headers = new Headers(callerHeaders)
        headers.set(IDEMPOTENCY_KEY_HEADER, createIdempotencyKey(runtime.executor.settings.random))
        this.init = { ...init, headers }
        hasIdempotencyKey = true
      }
    }
    this.isIdempotent = hasIdempotencyKey || isIdempotentMethod(method)
    this.isHedgeable = (this.isIdempotent || rules.retryNonIdempotent) && !isOneShot(body)
    const isSentOnce = retry.maxAttempts === 1 && runtime.executor.settings.hedge === undefined
    this.shouldCloneRequest = !isSentOnce && body == null && request !== undefined && request.body !== null
    this.method = method
    this.callerContext = context
  }

  /** The headers of the request, including a generated idempotency key. */
  get headers(): RequestInit['headers'] {
    return this.init.headers ?? (isRequest(this.input) ? this.input.headers : undefined)
  }

  /** Created when first read, because parsing the URL takes longer than the rest of a successful call. */
  get context(): FetchContext {
    this.ownContext ??= { ...createFetchContext(this.method, this.input), ...this.callerContext }
    return this.ownContext
  }

  mustNotRepeat(result: unknown, classification: Classification | undefined): boolean {
    const { isIdempotent, url, body, runtime } = this
    const rules = runtime.executor.policyFor?.(classification).rules ?? this.rules
    const redirectedUrl = url === undefined || !this.hidesRedirects ? undefined : parseUrl(url)
    const isAllowed =
      isIdempotent ||
      rules.retryNonIdempotent ||
      wasNotProcessed(result, rules.notProcessedStatuses) ||
      (!this.isRedirected && wasNotSent(result, redirectedUrl))
    return !(isAllowed && canSendBody(body))
  }

  /** Whether the fetch function follows redirects, so that they are not noticed. */
  private get hidesRedirects(): boolean {
    const { input, init } = this
    return !this.mustSeeRedirects && redirectOf(input, init) === 'follow'
  }

  /**
   * Whether redirects are followed here, because an error of the platform's fetch does not show whether the request was redirected:
   * that of Bun has only the first URL. A request that can be repeated does not need to know.
   */
  private get mustSeeRedirects(): boolean {
    const { isIdempotent, rules, runtime, input, init } = this
    return (
      !isIdempotent &&
      !(rules.retryNonIdempotent && runtime.executor.policyFor === undefined) &&
      runtime.fetch === undefined &&
      'Bun' in globalThis &&
      redirectOf(input, init) === 'follow'
    )
  }

  /** Runs one attempt. Returns the response, or throws a {@link StatusError} for one whose status is a failure. */
  readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<Response> => {
    const { executor } = this.runtime
    if (attempt.number !== this.attemptNumber) {
      this.attemptNumber = attempt.number
      if (this.pendingResponse !== undefined) await this.discardResponses()
    }
    const context = attempt as PooledAttempt as AttemptContext
    const attemptContext = this.canAbortAttempts ? context : undefined
    const response = await this.sendOnce(targetOf(attempt.member), context)
    const endSignal = attemptContext ?? this.signal
    if (endSignal?.aborted) {
      // The attempt was aborted, but the fetch function ignored its signal and responded. The response is not used.
      void discardBody(response, executor.settings.clock)
      throw (attemptContext?.signal ?? this.signal)?.reason
    }
    if (attemptContext !== undefined && this.signal !== undefined)
      abortBodyOnSignal(this.signal, response, attemptContext)
    if (this.pendingResponse !== undefined) (this.losingResponses ??= []).push(this.pendingResponse)
    this.pendingResponse = response
    const failure = response.status < 400 ? undefined : await this.createStatusError(response, attemptContext)
    if (failure !== undefined) throw failure
    return response
  }

  /** Ends the request with an error: returns its response if it represents one that is not thrown, and throws otherwise. */
  fail(error: unknown): Response {
    const response =
      error instanceof StatusError && this.isPending(error.response) ? error.response : undefined
    if (response !== undefined && this.runtime.returnedErrors.has(error as object)) {
      transferSession(error, response)
      return this.finish(response)
    }
    void this.discardResponses(response)
    this.cancelRequestBody()
    throw error
  }

  /** Ends the request with a response, and discards the others. */
  finish(response: Response): Response {
    if (this.pendingResponse !== response || this.losingResponses !== undefined)
      void this.discardResponses(response)
    this.cancelRequestBody()
    return response
  }

  private isPending(response: Response): boolean {
    return this.pendingResponse === response || this.losingResponses?.includes(response) === true
  }

  /** Discards all responses except this one, which the caller reads. */
  private async discardResponses(except?: Response): Promise<void> {
    const { pendingResponse, losingResponses, runtime } = this
    this.pendingResponse = undefined
    this.losingResponses = undefined
    for (const response of [pendingResponse, ...(losingResponses ?? [])])
      if (response !== undefined && response !== except)
        await discardBody(response, runtime.executor.settings.clock)
  }

  /** Cancels the body of a Request whose clones were sent. */
  private cancelRequestBody(): void {
    const { input } = this
    if (this.shouldCloneRequest && isRequest(input) && input.body?.locked === false)
      input.body.cancel().catch(() => {})
  }

  /** The error of a response with a status of 400 or more, or undefined if the attempt succeeds with the response. */
  private async createStatusError(
    response: Response,
    attempt: AttemptContext | undefined,
  ): Promise<StatusError | undefined> {
    const { runtime, context } = this
    const { executor } = runtime
    const { error, isFailure, retry } = toStatusFailure(response, { executor, retry: this.retry, context })
    if (!runtime.throwOnStatus) runtime.returnedErrors.add(error)
    if (isFailure && hasErrorNames(retry))
      await addFailureCode(error, attempt, (signal) => peekText(response, executor.settings.clock, signal))
    return isFailure || runtime.throwOnStatus ? error : undefined
  }

  /** Sends the request once, to a member of the pool if there is one. */
  private async sendOnce(target: FetchTarget | undefined, attempt: AttemptContext): Promise<Response> {
    const { body } = this
    const { origin, dispatcher } = target ?? {}
    const mustSeeRedirects = this.mustSeeRedirects && target?.fetch === undefined
    const memberHeaders =
      target?.headers === undefined && !mustSeeRedirects ? undefined : new Headers(target?.headers)
    const send = target?.fetch ?? this.runtime.fetch ?? globalThis.fetch
    let { input, init } = this
    if (isRequest(input)) {
      const copy = this.shouldCloneRequest ? input.clone() : input
      if (origin === undefined && memberHeaders === undefined) input = copy
      else {
        const bodyInit = body == null && copy.body !== null ? { body: await copy.arrayBuffer() } : undefined
        init = { ...requestInitOf(copy), ...init, ...bodyInit }
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
    if (this.canAbortAttempts) init = withSignal(init, attempt)
    // The attempt can be aborted while a body is created or that of the previous response is read.
    if (attempt.aborted) throw attempt.signal.reason
    return memberHeaders === undefined
      ? send(input, init)
      : this.sendWithHeaders(memberHeaders, send, input, init, mustSeeRedirects)
  }

  /** Sends the request with the headers of a member, which must not reach another origin, or follows its redirects. */
  private sendWithHeaders(
    memberHeaders: Headers,
    send: FetchFunction,
    input: FetchInput,
    init: RequestInit,
    mustSeeRedirects: boolean,
  ): Promise<Response> {
    const callerHeaders = new Headers(init.headers)
    const headers = new Headers(callerHeaders)
    for (const [name, value] of memberHeaders) headers.set(name, value)
    const url = parseUrl(input)
    const isFollowed = (init.redirect ?? 'follow') === 'follow'
    if (url === undefined || !isFollowed || !(mustSeeRedirects || hasOtherHeaders(memberHeaders)))
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

const redirectOf = (input: FetchInput, { redirect }: RequestInit): RequestRedirect =>
  redirect ?? (isRequest(input) ? input.redirect : 'follow')

/** Whether `timeout` of an init is that of a guard. */
export const hasTimeout = (
  init: FetchInit | undefined,
): init is FetchInit & { timeout: TimeoutOptions | false } =>
  init?.timeout === false || (typeof init?.timeout === 'object' && init.timeout !== null)

/** Removes the properties that fetch does not know; returns the same object if there are none. */
function toRequestInit(fetchInit: FetchInit): RequestInit {
  if (
    fetchInit.context === undefined &&
    fetchInit.retry === undefined &&
    !hasTimeout(fetchInit) &&
    typeof fetchInit.body !== 'function'
  )
    return fetchInit as RequestInit
  const { context: _, retry: __, timeout, body, ...rest } = fetchInit
  // A fetch function can have a `timeout` of its own, which is not an object. False applies to both.
  const isOwnOption = timeout === undefined || Object(timeout) === timeout
  const init = isOwnOption ? rest : { ...rest, timeout }
  return typeof body === 'function' || body === undefined ? init : { ...init, body }
}

/** Required by fetch when the body is a stream. */
const HALF_DUPLEX = { duplex: 'half' }

/** Adds the signal of the attempt. It is created when it is read, because creating an AbortSignal is expensive. */
function withSignal(init: RequestInit, attemptContext: AttemptContext): RequestInit {
  return {
    ...init,
    get signal() {
      return attemptContext.signal
    },
  }
}
