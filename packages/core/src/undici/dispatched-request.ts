import type { AttemptContext, PooledAttempt } from '../attempt/attempt.js'
import type { Classification } from '../classify/classification.js'
import { targetOf } from '../http/check-target.js'
import { createFetchContext, type FetchContext } from '../http/context.js'
import { addFailureCode, hasErrorNames } from '../http/failure-code.js'
import {
  createIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  isIdempotentMethod,
  isSafeMethod,
  wasNotProcessed,
  wasNotSent,
} from '../http/idempotency.js'
import type { RequestPolicy } from '../http/options.js'
import type { ReplayableRequest } from '../http/replay-safe-pool.js'
import type { RequestExecution, RequestRunner } from '../http/request-executor.js'
import { StatusError } from '../http/status-error.js'
import { toStatusFailure } from '../http/status-failure.js'
import { type FetchTarget, joinPaths, parseUrl } from '../http/target.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { RequestBody } from './body.js'
import type { Dispatch, DispatchHandler, DispatchOptions } from './dispatch.js'
import { type AttemptResponse, DispatchAttempt } from './dispatch-attempt.js'
import { hasHeader, withHeader, withHeaders } from './headers.js'
import { ResponseForwarder } from './response-forwarder.js'

/** The data that all requests of an interceptor share. */
export interface InterceptorContext {
  readonly executor: RequestRunner
  readonly policy: RequestPolicy
  /** The policy, converted by `toRetryPolicy`. */
  readonly retry: CompiledRetryPolicy
}

/** One dispatched request with all its attempts. */
export class DispatchedRequest implements ReplayableRequest {
  /** The request is aborted through its handler, and not by a signal. */
  readonly signal = undefined
  private readonly method: string
  private ownContext: FetchContext | undefined
  private readonly interceptor: InterceptorContext
  private readonly dispatch: Dispatch
  private readonly options: DispatchOptions
  private readonly body: RequestBody
  /** Whether the method or a key makes it safe if the request arrives more than once. */
  private readonly isIdempotent: boolean
  private readonly forwarder: ResponseForwarder
  /** The context that inner interceptors add to; the handler receives the object at the start. */
  private readonly handlerContext: object = {}
  private readonly attempts = new Set<DispatchAttempt>()
  private execution: RequestExecution<AttemptResponse> | undefined
  /** Whether the last attempt connected to the origin of the request, not through a dispatcher or origin of a member. */
  private isDirect = true
  /** The attempt with the last response, until it is decided whether that response is forwarded. */
  private pendingAttempt: DispatchAttempt | undefined
  private canDispatchMore = true

  constructor(
    interceptor: InterceptorContext,
    dispatch: Dispatch,
    options: DispatchOptions,
    handler: DispatchHandler,
  ) {
    const { rules } = interceptor.policy
    const method = options.method.toUpperCase()
    let { headers } = options
    let hasIdempotencyKey = !isSafeMethod(method) && hasHeader(headers, IDEMPOTENCY_KEY_HEADER)
    if (rules.idempotencyKey && !hasIdempotencyKey && !isSafeMethod(method)) {
      headers = withHeader(
        headers,
        IDEMPOTENCY_KEY_HEADER,
        createIdempotencyKey(interceptor.executor.settings.random),
      )
      hasIdempotencyKey = true
    }
    this.interceptor = interceptor
    this.dispatch = dispatch
    this.body = new RequestBody(options.body, headers)
    this.options = { ...options, headers, body: this.body.content }
    this.isIdempotent = hasIdempotencyKey || isIdempotentMethod(method)
    this.method = method
    this.forwarder = new ResponseForwarder(handler, (reason) => this.abort(reason))
  }

  /** Created when first read, because parsing the URL takes longer than the rest of a successful call. */
  get context(): FetchContext {
    const { origin = '', path = '' } = this.options
    this.ownContext ??= createFetchContext(this.method, `${origin}${path}`)
    return this.ownContext
  }

  /** Starts the request. Returns whether the next request can be dispatched at once. */
  start(): boolean {
    const { interceptor, forwarder, isIdempotent, body } = this
    forwarder.start(this.handlerContext)
    if (forwarder.aborted) {
      forwarder.onError(forwarder.reason as Error)
      return true
    }
    const { executor, retry, policy } = interceptor
    this.execution = executor.createExecution<AttemptResponse, FetchTarget>(
      this,
      this.send,
      retry,
      (isIdempotent || policy.rules.retryNonIdempotent) && !body.isOneShot,
    )
    this.execution.start().then(
      (response) => this.finish(response),
      (error) => this.fail(error),
    )
    return this.canDispatchMore
  }

  mustNotRepeat(result: unknown, classification: Classification | undefined): boolean {
    const { executor, policy } = this.interceptor
    const url = this.isDirect ? parseUrl(this.options.origin ?? '') : undefined
    const { rules } = executor.policyFor?.(classification) ?? policy
    const isAllowed =
      this.isIdempotent ||
      rules.retryNonIdempotent ||
      wasNotProcessed(result, rules.notProcessedStatuses) ||
      wasNotSent(result, url)
    return !(isAllowed && this.body.canSend())
  }

  private readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<AttemptResponse> => {
    const { executor, retry: initialRetry } = this.interceptor
    const { pendingAttempt } = this
    this.pendingAttempt = undefined
    const context = attempt as PooledAttempt as AttemptContext
    if (pendingAttempt !== undefined) await pendingAttempt.discard(executor.settings.clock)
    if (context.aborted) throw attempt.signal.reason
    const dispatchAttempt = new DispatchAttempt(
      (status) => status >= 400 || initialRetry.retryIf !== undefined,
      (context) => Object.assign(this.handlerContext, context),
    )
    if (executor.canAbortAttempts) abortOnSignal(attempt.signal, dispatchAttempt)
    this.attempts.add(dispatchAttempt)
    try {
      this.dispatchAttempt(dispatchAttempt, targetOf(attempt.member))
      const response = await dispatchAttempt.response
      if (executor.canAbortAttempts && attempt.signal.aborted) throw attempt.signal.reason
      this.holdResponse(dispatchAttempt)
      if (response.status < 400) return response
      const { error, isFailure, retry } = toStatusFailure(response, {
        executor,
        retry: initialRetry,
        context: this.context,
      })
      if (isFailure && hasErrorNames(retry))
        await addFailureCode(error, context, (signal) =>
          dispatchAttempt.peekText(executor.settings.clock, signal),
        )
      if (executor.canAbortAttempts && attempt.signal.aborted) throw attempt.signal.reason
      if (isFailure) throw error
      return response
    } finally {
      this.attempts.delete(dispatchAttempt)
    }
  }

  /** Keeps a response; of two responses to a hedged request the later is kept. */
  private holdResponse(attempt: DispatchAttempt): void {
    void this.pendingAttempt?.discard(this.interceptor.executor.settings.clock)
    this.pendingAttempt = attempt
  }

  private dispatchAttempt(attempt: DispatchAttempt, target: FetchTarget | undefined): void {
    const { origin, dispatcher, headers } = target ?? {}
    let { options } = this
    if (origin !== undefined) {
      const { origin: memberOrigin, pathname } = new URL(origin)
      options = { ...options, origin: memberOrigin, path: joinPaths(pathname, options.path ?? '/') }
    }
    if (headers !== undefined)
      options = { ...options, headers: withHeaders(options.headers, [...new Headers(headers)]) }
    this.isDirect = dispatcher === undefined && origin === undefined
    this.canDispatchMore =
      dispatcher === undefined
        ? this.dispatch(options, attempt)
        : (dispatcher as { dispatch: Dispatch }).dispatch(options, attempt)
  }

  private finish(response: AttemptResponse): void {
    const { pendingAttempt, forwarder, interceptor } = this
    if (pendingAttempt !== undefined && pendingAttempt !== response.attempt)
      void pendingAttempt.discard(interceptor.executor.settings.clock)
    forwarder.forward(response)
  }

  private fail(error: unknown): void {
    const { pendingAttempt, forwarder, interceptor } = this
    if (error instanceof StatusError && error.response.attempt === pendingAttempt) {
      this.finish(error.response)
      return
    }
    if (pendingAttempt !== undefined) void pendingAttempt.discard(interceptor.executor.settings.clock)
    forwarder.onError(error instanceof Error ? error : new Error(String(error)))
  }

  /** Called when the handler aborts before a response was forwarded to it. */
  private abort(reason: Error): void {
    const { execution, attempts } = this
    execution?.abort(reason)
    for (const attempt of attempts) attempt.abort(reason)
  }
}

/** Aborts the dispatched attempt when its deadline passes or another hedged attempt has won. */
function abortOnSignal(signal: AbortSignal, attempt: DispatchAttempt): void {
  signal.addEventListener('abort', () => attempt.abort(signal.reason as Error), { once: true })
}
