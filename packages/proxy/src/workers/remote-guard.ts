import type { ConnectionOptions } from 'node:tls'
import { deserialize } from 'node:v8'
import type { Attempt, RunOptions } from 'holdfast'
import { ProxyUpstream } from '../connect/upstream.js'
import type { ProxyCall, ProxyGuard } from '../server/options.js'
import { StatusResult } from '../server/upstream-response.js'
import type { Channel } from './channel.js'
import {
  decodeError,
  encodeError,
  type PrimaryMessage,
  type SerializedMember,
  type WireOutcome,
  type WorkerMessage,
} from './protocol.js'

/** How many members of the pool a worker keeps connections to. */
const MAX_UPSTREAMS = 100_000

type AttemptReply = { readonly ok: boolean; readonly value: unknown }

interface RunningCall {
  readonly fn: (attempt: Attempt) => unknown
  readonly options: RunOptions
  readonly outcomes: Map<number, AttemptReply>
  readonly attempts: Map<number, AbortController>
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Creates guards that run calls in the primary, and makes the attempts that the primary requests. */
export class RemoteGuards {
  private readonly channel: Channel<WorkerMessage>
  private readonly calls = new Map<number, RunningCall>()
  private readonly questions = new Map<number, (value: boolean) => void>()
  private readonly upstreams = new Map<string, ProxyUpstream>()
  private lastId = 0

  constructor(channel: Channel<WorkerMessage>) {
    this.channel = channel
  }

  create(call: ProxyCall): ProxyGuard {
    return {
      run: <T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options: RunOptions = {}) =>
        this.run(call, fn, options) as Promise<T>,
      retryNonIdempotent: () =>
        new Promise((resolve) => {
          const id = ++this.lastId
          this.questions.set(id, resolve)
          this.channel.send({ type: 'can_repeat', id, call })
        }),
    }
  }

  handle(message: PrimaryMessage): void {
    if (message.type === 'attempt') void this.attempt(message)
    else if (message.type === 'abort')
      this.calls.get(message.id)?.attempts.get(message.attemptKey)?.abort(decodeError(message.reason))
    else if (message.type === 'end') this.end(message)
    else if (message.type === 'can_repeat') {
      this.questions.get(message.id)?.(message.value)
      this.questions.delete(message.id)
    }
  }

  private run(call: ProxyCall, fn: (attempt: Attempt) => unknown, options: RunOptions): Promise<unknown> {
    const { channel, calls } = this
    const { signal } = options
    const id = ++this.lastId
    const cancel = (): void => channel.send({ type: 'cancel', id })
    return new Promise((resolve, reject) => {
      calls.set(id, { fn, options, outcomes: new Map(), attempts: new Map(), resolve, reject })
      channel.send({ type: 'run', id, call, hasAbortMatchers: abortMatchers(options).length > 0 })
      if (signal?.aborted) cancel()
      else signal?.addEventListener('abort', cancel, { once: true })
    }).finally(() => {
      signal?.removeEventListener('abort', cancel)
      calls.delete(id)
    })
  }

  /** Makes one attempt and sends its outcome to the primary. */
  private async attempt(message: PrimaryMessage & { type: 'attempt' }): Promise<void> {
    const { id, attemptKey, number, member } = message
    const call = this.calls.get(id)
    if (call === undefined) return
    const controller = new AbortController()
    call.attempts.set(attemptKey, controller)
    const attempt: Attempt = {
      number,
      signal: controller.signal,
      note: () => {},
      ...(member && { member: { id: member.id, value: this.upstreamFor(member) } }),
    }
    let outcome: AttemptReply
    try {
      outcome = { ok: true, value: await call.fn(attempt) }
    } catch (error) {
      outcome = { ok: false, value: error }
    }
    call.attempts.delete(attemptKey)
    // The call may have ended while the attempt was running.
    if (this.calls.get(id) !== call) return discard(outcome)
    call.outcomes.set(attemptKey, outcome)
    this.channel.send({ type: 'outcome', id, attemptKey, outcome: wireOutcome(outcome, call.options) })
  }

  private end({ id, attemptKey, error }: PrimaryMessage & { type: 'end' }): void {
    const call = this.calls.get(id)
    if (call === undefined) return
    this.calls.delete(id)
    for (const [other, outcome] of call.outcomes) if (other !== attemptKey) discard(outcome)
    const chosen = attemptKey === undefined ? undefined : call.outcomes.get(attemptKey)
    if (chosen?.ok) call.resolve(chosen.value)
    else call.reject(chosen === undefined && error !== undefined ? decodeError(error) : chosen?.value)
  }

  private upstreamFor({ id, url, connectTimeout, tls }: SerializedMember): ProxyUpstream {
    const name = `${id} ${url} ${connectTimeout} ${tls ?? ''}`
    const found =
      this.upstreams.get(name) ??
      new ProxyUpstream(url, { connectTimeout, ...(tls !== undefined && { tls: decodeTls(tls) }) })
    // Ordered by last use: the first entry is the least recently used.
    this.upstreams.delete(name)
    this.upstreams.set(name, found)
    if (this.upstreams.size > MAX_UPSTREAMS)
      this.upstreams.delete(this.upstreams.keys().next().value as string)
    return found
  }
}

const decodeTls = (text: string): ConnectionOptions => deserialize(Buffer.from(text, 'base64'))

/** Closes the connection of an attempt whose outcome is not used. Responses are discarded by the request that holds them. */
function discard({ ok, value }: AttemptReply): void {
  const { destroy } = Object(value) as { destroy?: unknown }
  if (ok && typeof destroy === 'function') (value as { destroy(): void }).destroy()
}

function wireOutcome({ ok, value }: AttemptReply, options: RunOptions): WireOutcome {
  const mustNotRepeat = abortMatchers(options).some(
    (matches) => typeof matches === 'function' && (matches as (outcome: unknown) => boolean)(value),
  )
  if (!ok) return { ok, mustNotRepeat, error: encodeError(value) }
  if (!(value instanceof StatusResult)) return { ok, mustNotRepeat }
  const { status, headers } = value
  return { ok, mustNotRepeat, status, headers }
}

/** The matchers of outcomes after which a call must not be repeated. Functions cannot be sent, so this process evaluates them. */
const abortMatchers = ({ retry }: RunOptions): readonly unknown[] => (retry ? (retry.abortOn ?? []) : [])
