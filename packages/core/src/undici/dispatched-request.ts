import type { AttemptContext, PooledAttempt } from '../execution/attempt.js'
import type { Execution } from '../execution/execution.js'
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
import type { RequestExecutor } from '../http/request-executor.js'
import { StatusError } from '../http/status-error.js'
import { toStatusFailure } from '../http/status-failure.js'
import { type FetchTarget, joinPaths, parseUrl } from '../http/target.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { RequestBody } from './body.js'
import type { Dispatch, DispatchHandler, DispatchOptions } from './dispatch.js'
import { type AttemptResponse, DispatchAttempt } from './dispatch-attempt.js'
import { hasHeader, withHeader, withHeaders } from './headers.js'
import { ResponseForwarder } from './response-forwarder.js'

/** What all requests of an interceptor share. */
export interface InterceptorContext {
  readonly executor: RequestExecutor
  readonly policy: RequestPolicy
  /** The policy as the engine runs it. */
  readonly retry: CompiledRetryPolicy
}

/** One dispatched request through all its attempts. */
export class DispatchedRequest implements ReplayableRequest {
  readonly context: FetchContext
  private readonly interceptor: InterceptorContext
  private readonly dispatch: Dispatch
  private readonly options: DispatchOptions
  private readonly body: RequestBody
  private readonly isRepeatSafe: boolean
  private readonly forwarder: ResponseForwarder
  /** What inner interceptors say of the request; the handler has it from the start. */
  private readonly handlerContext: object = {}
  private readonly attempts = new Set<DispatchAttempt>()
  private call: Execution<AttemptResponse> | undefined
  /** Whether the last attempt connected by itself. */
  private isDirect = true
  /** The last answer, as long as it is not certain that it is the one to hand over. */
  private pendingAttempt: DispatchAttempt | undefined
  private canDispatchMore = true

  constructor(
    relay: InterceptorContext,
    dispatch: Dispatch,
    options: DispatchOptions,
    handler: DispatchHandler,
  ) {
    const { rules } = relay.policy
    const method = options.method.toUpperCase()
    let { headers } = options
    let keyed = !isSafeMethod(method) && hasHeader(headers, IDEMPOTENCY_KEY_HEADER)
    if (rules.idempotencyKey && !keyed && !isSafeMethod(method)) {
      headers = withHeader(
        headers,
        IDEMPOTENCY_KEY_HEADER,
        createIdempotencyKey(relay.executor.settings.random),
      )
      keyed = true
    }
    this.interceptor = relay
    this.dispatch = dispatch
    this.body = new RequestBody(options.body, headers)
    this.options = { ...options, headers, body: this.body.content }
    this.isRepeatSafe = keyed || rules.retryNonIdempotent || isIdempotentMethod(method)
    this.context = createFetchContext(method, `${options.origin ?? ''}${options.path ?? ''}`)
    this.forwarder = new ResponseForwarder(handler, (reason) => this.abort(reason))
  }

  /** Begins; tells whether the next request may be dispatched at once. */
  start(): boolean {
    const { interceptor, forwarder, isRepeatSafe, body } = this
    forwarder.start(this.handlerContext)
    if (forwarder.aborted) {
      forwarder.onError(forwarder.reason as Error)
      return true
    }
    const { executor, retry } = interceptor
    this.call = executor.createCall<AttemptResponse, FetchTarget>(
      this,
      this.send,
      retry,
      isRepeatSafe && !body.isOneShot,
      undefined,
    )
    this.call.start().then(
      (answer) => this.finish(answer),
      (error) => this.fail(error),
    )
    return this.canDispatchMore
  }

  mustNotRepeat(result: unknown): boolean {
    const url = this.isDirect ? parseUrl(this.options.origin ?? '') : undefined
    const { notProcessedStatuses } = this.interceptor.policy.rules
    const isAllowed =
      this.isRepeatSafe || wasNotProcessed(result, notProcessedStatuses) || wasNotSent(result, url)
    return !(isAllowed && this.body.canSend())
  }

  private readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<AttemptResponse> => {
    const { executor, retry, policy } = this.interceptor
    const { pendingAttempt } = this
    this.pendingAttempt = undefined
    const context = attempt as PooledAttempt as AttemptContext
    if (pendingAttempt !== undefined) await pendingAttempt.discard(executor.settings.clock)
    if (context.aborted) throw attempt.signal.reason
    const dispatchAttempt = new DispatchAttempt(
      (status) => status >= 400 || retry.retryIf !== undefined,
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
      const retryStatusCodes = policy.rules.retryStatusCodes
      const { error, fails: isFailure } = toStatusFailure(response, {
        executor,
        retry,
        retryStatusCodes,
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

  /** Keeps an answer; of two to a hedged request the later counts. */
  private holdResponse(attempt: DispatchAttempt): void {
    void this.pendingAttempt?.discard(this.interceptor.executor.settings.clock)
    this.pendingAttempt = attempt
  }

  private dispatchAttempt(attempt: DispatchAttempt, target: FetchTarget | undefined): void {
    const { origin, dispatcher, headers } = target ?? {}
    let { options } = this
    if (origin !== undefined) {
      const { origin: own, pathname } = new URL(origin)
      options = { ...options, origin: own, path: joinPaths(pathname, options.path ?? '/') }
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

  /** The handler lost interest before there was an answer for it. */
  private abort(reason: Error): void {
    const { call, attempts } = this
    call?.abort(reason)
    for (const attempt of attempts) attempt.abort(reason)
  }
}

/** Ends an attempt whose time is up, or that another was quicker than. */
function abortOnSignal(signal: AbortSignal, attempt: DispatchAttempt): void {
  signal.addEventListener('abort', () => attempt.abort(signal.reason as Error), { once: true })
}
