import type { AttemptContext, PooledAttempt } from '../execution/attempt.js'
import type { RetryPolicy } from '../retry/options.js'
import { canBeSent, type FetchBody, isOneShot } from './body.js'
import type { Repeatable } from './careful-pool.js'
import { targetOf } from './check-target.js'
import { contextOf, type FetchContext } from './context.js'
import type { FetchInit } from './create-fetch.js'
import { discard } from './discard.js'
import type { Engine } from './engine.js'
import { addFailureCode, namesErrors, peekText } from './failure-code.js'
import { keepFollowing } from './handover.js'
import { hasHeader } from './headers.js'
import { idempotencyKey, isIdempotent, isSafe, neverLeft, wasNotProcessed } from './idempotency.js'
import { asFailure } from './judge.js'
import type { FetchFunction, RequestPolicy } from './options.js'
import { followRedirects, outliveRedirects } from './redirects.js'
import { StatusError } from './status-error.js'
import { atOrigin, type FetchInput, type FetchTarget, isRequest, partsOf, urlOf } from './target.js'

/** What all requests of a fetch share. */
export interface Sender {
  readonly engine: Engine
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
  /** Errors that stand for an answer which is to be returned. */
  readonly silent: WeakSet<object>
}

const KEY = 'idempotency-key'

/** One request through all its attempts: what is sent, whether it may be sent again, and which answer is unread. */
export class Exchange implements Repeatable {
  readonly context: FetchContext
  readonly signal: AbortSignal | undefined
  /** Whether two of it at a time do no harm. */
  readonly twice: boolean
  private readonly sender: Sender
  private readonly input: FetchInput
  private readonly init: RequestInit
  private readonly body: FetchBody
  private readonly retry: RetryPolicy
  private readonly listed: ReadonlySet<number> | undefined
  private readonly notProcessed: ReadonlySet<number>
  /** Whether it does no harm that it arrives again. */
  private readonly harmless: boolean
  /** Whether attempts send copies of a Request, whose body they could not send twice. */
  private readonly copies: boolean
  /** Where the last attempt went by itself; undefined where somebody else connects. */
  private url: FetchInput | undefined
  /** Whether the last attempt was redirected, so that it has arrived whatever became of it. */
  private isRedirected = false
  /** The last answer, as long as it is not certain that it is the one to hand over. */
  private held: Response | undefined
  /** Other answers to a hedged request, until one of them has won. */
  private rivals: Response[] | undefined
  /** The attempt whose answers these are. */
  private attempt = 0

  constructor(
    sender: Sender,
    { rules }: RequestPolicy,
    retry: RetryPolicy,
    input: FetchInput,
    given: FetchInit,
  ) {
    const { context, body } = given
    const init = plainInit(given)
    const request = isRequest(input) ? input : undefined
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
    this.sender = sender
    this.input = input
    this.retry = retry
    this.listed = rules.retryStatusCodes
    this.notProcessed = rules.notProcessedStatuses
    this.body = body
    this.init = init
    this.signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined
    let keyed = false
    if (!isIdempotent(method) || (rules.idempotencyKey && !isSafe(method))) {
      const told = init.headers ?? request?.headers
      keyed = hasHeader(told, KEY)
      if (!keyed && rules.idempotencyKey && !isSafe(method)) {
        const headers = new Headers(told)
        headers.set(KEY, idempotencyKey(sender.engine.settings.random))
        this.init = { ...init, headers }
        keyed = true
      }
    }
    this.harmless = keyed || rules.retryNonIdempotent || isIdempotent(method)
    this.twice = this.harmless && !isOneShot(body)
    const once = retry.maxAttempts === 1 && sender.engine.settings.hedge === undefined
    this.copies = !once && body == null && request !== undefined && request.body !== null
    const facts = contextOf(method, input)
    this.context = context === undefined ? facts : { ...facts, ...context }
  }

  refuses(result: unknown): boolean {
    const { harmless, url, body, notProcessed } = this
    const isAllowed =
      harmless ||
      wasNotProcessed(result, notProcessed) ||
      (!this.isRedirected && neverLeft(result, url === undefined ? undefined : urlOf(url)))
    return !(isAllowed && canBeSent(body))
  }

  /** Makes one attempt: an answer, or a {@link StatusError} that stands for one that tells of a failure. */
  readonly send = async (attempt: PooledAttempt<FetchTarget>): Promise<Response> => {
    const { engine } = this.sender
    if (attempt.number !== this.attempt) {
      this.attempt = attempt.number
      if (this.held !== undefined) await this.letGo()
    }
    const context = attempt as PooledAttempt as AttemptContext
    const flight = engine.cuts ? context : undefined
    const response = await this.request(targetOf(attempt.member), context)
    const ended = flight ?? this.signal
    if (ended?.aborted) {
      // Nobody waits for it any more, and whoever sent it did not hear of that.
      void discard(response, engine.settings.clock)
      throw (flight?.signal ?? this.signal)?.reason
    }
    if (flight !== undefined && this.signal !== undefined)
      keepFollowing(this.signal, response, (reason) => flight.abort(reason))
    if (this.held !== undefined) (this.rivals ??= []).push(this.held)
    this.held = response
    const failure = response.status < 400 ? undefined : await this.judge(response, flight)
    if (failure !== undefined) throw failure
    return response
  }

  /** Takes a failure of all attempts: gives the last answer where it was one, and throws it otherwise. */
  fail(error: unknown): Response {
    const answer = error instanceof StatusError && this.holds(error.response) ? error.response : undefined
    if (answer !== undefined && this.sender.silent.has(error as object)) return this.finish(answer)
    void this.letGo(answer)
    this.end()
    throw error
  }

  /** Takes what the request ends with. */
  finish(answer: Response): Response {
    if (this.held !== answer || this.rivals !== undefined) void this.letGo(answer)
    this.end()
    return answer
  }

  private holds(answer: Response): boolean {
    return this.held === answer || this.rivals?.includes(answer) === true
  }

  /** Lets the answers go that nobody will read: all but this one. */
  private async letGo(but?: Response): Promise<void> {
    const { held, rivals, sender } = this
    this.held = undefined
    this.rivals = undefined
    for (const answer of [held, ...(rivals ?? [])])
      if (answer !== undefined && answer !== but) await discard(answer, sender.engine.settings.clock)
  }

  /** Lets go of a Request's body, of which the attempts sent copies. */
  private end(): void {
    const { input } = this
    if (this.copies && isRequest(input) && input.body?.locked === false) input.body.cancel().catch(() => {})
  }

  /**
   * The error that an answer of 400 or more is to the engine, or undefined where the caller is simply to have the answer.
   */
  private async judge(
    response: Response,
    attempt: AttemptContext | undefined,
  ): Promise<StatusError | undefined> {
    const { sender, retry, listed, context } = this
    const { engine } = sender
    const { error, fails } = asFailure(response, { engine, retry, listed, context })
    if (!sender.throwOnStatus) sender.silent.add(error)
    if (fails && namesErrors(retry))
      await addFailureCode(error, attempt, (signal) => peekText(response, engine.settings.clock, signal))
    return fails || sender.throwOnStatus ? error : undefined
  }

  /** Sends it once, to a member of the pool where there is one. */
  private async request(target: FetchTarget | undefined, attempt: AttemptContext): Promise<Response> {
    const { body } = this
    const { origin, dispatcher } = target ?? {}
    const memberHeaders = target?.headers === undefined ? undefined : new Headers(target.headers)
    const send = target?.fetch ?? this.sender.fetch ?? globalThis.fetch
    let { input, init } = this
    if (isRequest(input)) {
      const copy = this.copies ? input.clone() : input
      if (origin === undefined && memberHeaders === undefined) input = copy
      else {
        const own = body == null && copy.body !== null ? { body: await copy.arrayBuffer() } : undefined
        init = { ...partsOf(copy), ...init, ...own }
        input = origin === undefined ? copy.url : atOrigin(copy, origin)
      }
    } else if (origin !== undefined) input = atOrigin(input, origin)
    const direct = target?.fetch === undefined && dispatcher === undefined && !('dispatcher' in init)
    this.url = direct ? input : undefined
    this.isRedirected = false
    if (typeof body === 'function') {
      const made = await body()
      init = { ...init, body: made ?? null, ...(isOneShot(made) && HALF) }
    }
    if (dispatcher !== undefined) init = { ...init, dispatcher } as RequestInit
    if (this.sender.engine.cuts) init = withSignal(init, attempt)
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
    const url = urlOf(input)
    const isFollowed = (init.redirect ?? 'follow') === 'follow'
    if (url === undefined || !isFollowed || !outliveRedirects(memberHeaders))
      return send(input, { ...init, headers })
    const onRedirect = () => {
      this.isRedirected = true
    }
    const { clock } = this.sender.engine.settings
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
function plainInit(given: FetchInit): RequestInit {
  if (given.context === undefined && given.retry === undefined && typeof given.body !== 'function')
    return given as RequestInit
  const { context: _, retry: __, body, ...init } = given
  return typeof body === 'function' || body === undefined ? init : { ...init, body }
}

/** What fetch asks for where a body is a stream. */
const HALF = { duplex: 'half' }

/** What a request is sent with, and the signal of its attempt, which is made when it is read: few things cost as much. */
function withSignal(init: RequestInit, flight: AttemptContext): RequestInit {
  return {
    ...init,
    get signal() {
      return flight.signal
    },
  }
}
