import { serialize } from 'node:v8'
import { type Attempt, HoldfastError, type RunOptions } from 'holdfast'
import { urlWithCredentials } from '../connect/credentials.js'
import { upstreamOf } from '../members/member.js'
import type { ProxyCall, ProxyGuard } from '../server/options.js'
import type { Channel } from './channel.js'
import {
  decodeError,
  encodeError,
  type PrimaryMessage,
  type SerializedMember,
  type WireOutcome,
  type WorkerMessage,
} from './protocol.js'

const KEY = Symbol('the attempt of an outcome')

/** A call that runs under the guard of the primary, and whose attempts a worker makes. */
export class RemoteCall {
  private readonly id: number
  private readonly call: ProxyCall
  /** Whether the worker reports outcomes after which it must not be repeated. */
  private readonly hasAbortMatchers: boolean
  private readonly channel: Channel<PrimaryMessage>
  private readonly controller = new AbortController()
  private readonly attempts = new Map<number, { resolve(value: object): void; reject(error: Error): void }>()
  private lastKey = 0
  /** Whether the worker reported that the request must not be sent again. */
  private mustNotRepeat = false

  constructor(
    { id, call, hasAbortMatchers }: WorkerMessage & { type: 'run' },
    channel: Channel<PrimaryMessage>,
  ) {
    this.id = id
    this.call = call
    this.hasAbortMatchers = hasAbortMatchers
    this.channel = channel
  }

  async run(guardFor: (call: ProxyCall) => ProxyGuard): Promise<void> {
    const { id, call, channel } = this
    const options: RunOptions = {
      signal: this.controller.signal,
      context: call.context,
      ...(this.hasAbortMatchers && { retry: { abortOn: [() => this.mustNotRepeat] } }),
    }
    try {
      const value = await guardFor(call).run((attempt) => this.attempt(attempt), options)
      channel.send({ type: 'end', id, attemptKey: outcomeKey(value) })
    } catch (error) {
      channel.send({ type: 'end', id, attemptKey: outcomeKey(error), error: encodeError(error) })
    }
  }

  settle(attemptKey: number, outcome: WireOutcome): void {
    const attempt = this.attempts.get(attemptKey)
    this.attempts.delete(attemptKey)
    this.mustNotRepeat = outcome.mustNotRepeat
    if (!outcome.ok) attempt?.reject(Object.assign(decodeError(outcome.error), { [KEY]: attemptKey }))
    else {
      const { status, headers } = outcome
      // A value without a status is not classified.
      attempt?.resolve(status === undefined ? { [KEY]: attemptKey } : { status, headers, [KEY]: attemptKey })
    }
  }

  cancel(reason: string): void {
    this.controller.abort(new HoldfastError('CANCELLED', reason))
  }

  private attempt(attempt: Attempt): Promise<object> {
    const { id, channel } = this
    const attemptKey = ++this.lastKey
    return new Promise((resolve, reject) => {
      this.attempts.set(attemptKey, { resolve, reject })
      attempt.signal.addEventListener('abort', () => {
        if (!this.attempts.delete(attemptKey)) return
        const { reason } = attempt.signal
        channel.send({ type: 'abort', id, attemptKey, reason: encodeError(reason) })
        reject(reason)
      })
      const member = attempt.member && wireMember(attempt.member.id, attempt.member.value)
      channel.send({ type: 'attempt', id, attemptKey, number: attempt.number, member })
    })
  }
}

const outcomeKey = (outcome: unknown): number | undefined => (Object(outcome) as { [KEY]?: number })[KEY]

function wireMember(id: string, value: unknown): SerializedMember {
  const upstream = upstreamOf(value)
  const { connectTimeout, tls } = upstream
  const hasTls = Object.keys(tls).length > 0
  return {
    id,
    url: urlWithCredentials(upstream),
    connectTimeout,
    tls: hasTls ? serialize(tls).toString('base64') : undefined,
  }
}
