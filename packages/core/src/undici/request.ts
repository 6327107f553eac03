import type { AttemptContext, PooledAttempt } from '../execution/attempt.js'
import type { Execution } from '../execution/execution.js'
import type { Repeatable } from '../http/careful-pool.js'
import { targetOf } from '../http/check-target.js'
import { contextOf, type FetchContext } from '../http/context.js'
import type { Engine } from '../http/engine.js'
import { addFailureCode, namesErrors } from '../http/failure-code.js'
import { idempotencyKey, isIdempotent, isSafe, neverLeft, wasNotProcessed } from '../http/idempotency.js'
import { asFailure } from '../http/judge.js'
import type { RequestPolicy } from '../http/options.js'
import { StatusError } from '../http/status-error.js'
import { type FetchTarget, joinPaths, urlOf } from '../http/target.js'
import type { RetryPolicy } from '../retry/options.js'
import { RequestBody } from './body.js'
import { Delivery } from './delivery.js'
import type { Dispatch, DispatchHandler, DispatchOptions } from './dispatch.js'
import { hasHeader, withHeader, withHeaders } from './headers.js'
import { Leg, type LegAnswer } from './leg.js'

const KEY = 'idempotency-key'

/** What all requests of an interceptor share. */
export interface Relay {
  readonly engine: Engine
  readonly policy: RequestPolicy
  /** The policy as the engine runs it. */
  readonly retry: RetryPolicy
}

/** One dispatched request through all its attempts. */
export class DispatchedRequest implements Repeatable {
  readonly context: FetchContext
  private readonly relay: Relay
  private readonly dispatch: Dispatch
  private readonly options: DispatchOptions
  private readonly body: RequestBody
  private readonly harmless: boolean
  private readonly delivery: Delivery
  /** What inner interceptors say of the request; the handler has it from the start. */
  private readonly told: object = {}
  private readonly legs = new Set<Leg>()
  private call: Execution<LegAnswer> | undefined
  /** Whether the last attempt connected by itself. */
  private direct = true
  /** The last answer, as long as it is not certain that it is the one to hand over. */
  private held: Leg | undefined
  private flowing = true

  constructor(relay: Relay, dispatch: Dispatch, options: DispatchOptions, handler: DispatchHandler) {
    const { rules } = relay.policy
    const method = options.method.toUpperCase()
    let { headers } = options
    let keyed = !isSafe(method) && hasHeader(headers, KEY)
    if (rules.idempotencyKey && !keyed && !isSafe(method)) {
      headers = withHeader(headers, KEY, idempotencyKey(relay.engine.settings.random))
      keyed = true
    }
    this.relay = relay
    this.dispatch = dispatch
    this.body = new RequestBody(options.body, headers)
    this.options = { ...options, headers, body: this.body.content }
    this.harmless = keyed || rules.retryNonIdempotent || isIdempotent(method)
    this.context = contextOf(method, `${options.origin ?? ''}${options.path ?? ''}`)
    this.delivery = new Delivery(handler, (reason) => this.abort(reason))
  }

  /** Begins; tells whether the next request may be dispatched at once. */
  start(): boolean {
    const { relay, delivery, harmless, body } = this
    delivery.start(this.told)
    if (delivery.aborted) {
      delivery.error(delivery.reason as Error)
      return true
    }
    const { engine, retry } = relay
    this.call = engine.call<LegAnswer, FetchTarget>(
      this,
      this.send,
      retry,
      harmless && !body.oneShot,
      undefined,
    )
    this.call.start().then(
      (answer) => this.finish(answer),
      (error) => this.fail(error),
    )
    return this.flowing
  }

  refuses(result: unknown): boolean {
    const url = this.direct ? urlOf(this.options.origin ?? '') : undefined
    const { notProcessedStatuses } = this.relay.policy.rules
    const isAllowed = this.harmless || wasNotProcessed(result, notProcessedStatuses) || neverLeft(result, url)
    return !(isAllowed && this.body.canBeSent())
  }

  private readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<LegAnswer> => {
    const { engine, retry, policy } = this.relay
    const { held } = this
    this.held = undefined
    const context = attempt as PooledAttempt as AttemptContext
    if (held !== undefined) await held.discard(engine.settings.clock)
    if (context.aborted) throw attempt.signal.reason
    const leg = new Leg(
      (status) => status >= 400 || retry.retryIf !== undefined,
      (context) => Object.assign(this.told, context),
    )
    if (engine.cuts) watch(attempt.signal, leg)
    this.legs.add(leg)
    try {
      this.launch(leg, targetOf(attempt.member))
      const answer = await leg.answer
      if (engine.cuts && attempt.signal.aborted) throw attempt.signal.reason
      this.hold(leg)
      if (answer.status < 400) return answer
      const listed = policy.rules.retryStatusCodes
      const { error, fails } = asFailure(answer, { engine, retry, listed, context: this.context })
      if (fails && namesErrors(retry))
        await addFailureCode(error, context, (signal) => leg.peekText(engine.settings.clock, signal))
      if (engine.cuts && attempt.signal.aborted) throw attempt.signal.reason
      if (fails) throw error
      return answer
    } finally {
      this.legs.delete(leg)
    }
  }

  /** Keeps an answer; of two to a hedged request the later counts. */
  private hold(leg: Leg): void {
    void this.held?.discard(this.relay.engine.settings.clock)
    this.held = leg
  }

  private launch(leg: Leg, target: FetchTarget | undefined): void {
    const { origin, dispatcher, headers } = target ?? {}
    let { options } = this
    if (origin !== undefined) {
      const { origin: own, pathname } = new URL(origin)
      options = { ...options, origin: own, path: joinPaths(pathname, options.path ?? '/') }
    }
    if (headers !== undefined)
      options = { ...options, headers: withHeaders(options.headers, [...new Headers(headers)]) }
    this.direct = dispatcher === undefined && origin === undefined
    this.flowing =
      dispatcher === undefined
        ? this.dispatch(options, leg)
        : (dispatcher as { dispatch: Dispatch }).dispatch(options, leg)
  }

  private finish(answer: LegAnswer): void {
    const { held, delivery, relay } = this
    if (held !== undefined && held !== answer.leg) void held.discard(relay.engine.settings.clock)
    delivery.take(answer)
  }

  private fail(error: unknown): void {
    const { held, delivery, relay } = this
    if (error instanceof StatusError && error.response.leg === held) {
      this.finish(error.response)
      return
    }
    if (held !== undefined) void held.discard(relay.engine.settings.clock)
    delivery.error(error instanceof Error ? error : new Error(String(error)))
  }

  /** The handler lost interest before there was an answer for it. */
  private abort(reason: Error): void {
    const { call, legs } = this
    call?.abort(reason)
    for (const leg of legs) leg.abort(reason)
  }
}

/** Ends an attempt whose time is up, or that another was quicker than. */
function watch(signal: AbortSignal, leg: Leg): void {
  signal.addEventListener('abort', () => leg.abort(signal.reason as Error), { once: true })
}
