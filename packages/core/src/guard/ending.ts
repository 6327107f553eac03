import type { Classification } from '../classify/index.js'
import type { StopReason } from '../retry/decide.js'
import { unfollow } from './abort.js'
import { Admission } from './admission.js'
import type { Flight } from './attempt.js'
import type { GuardCore } from './core.js'
import { fallBack } from './fallback.js'
import type { Leg } from './journal.js'
import { newPromise, type Settling } from './promise.js'
import { CALLED_OFF } from './verdict.js'

/** What a call may be given besides its function. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Handed to events, the fallback, the breaker's key and the pool. */
  context?: unknown
}

/** How a call ends, whatever it is doing: its promise is settled once, and all that it holds is given back. */
export abstract class Ending<T> extends Admission implements Leg, Settling<T> {
  resolve!: (value: T) => void
  reject!: (error: unknown) => void
  protected readonly signal: AbortSignal | undefined
  flight: Flight | undefined = undefined
  /** The number of the attempt that runs, else 0. The result of any other is late and changes nothing. */
  protected running = 0
  /** Functions that have not settled yet, wanted or not: while there are any, the place in the bulkhead is taken. */
  protected unsettled = 0
  protected ended = false
  private made: Promise<T> | undefined = undefined
  /** A wait, or a deadline that is in no list. */
  protected timer: unknown = undefined
  /** Makes one of an attempt that has several parts, before it is cut off. */
  declare unite: (() => void) | undefined
  /** Hears that the attempt is cut off. */
  declare onCut: ((reason: unknown) => void) | undefined
  /** Gives back its place in the bulkhead. */
  declare protected free: (() => void) | undefined

  constructor(guard: GuardCore, options: CallOptions | undefined) {
    super(guard, options?.context)
    this.signal = options?.signal ?? undefined
  }

  /** What it settles; made when first asked for, because one that takes over from another settles that one's. */
  get promise(): Promise<T> {
    this.made ??= newPromise(this)
    return this.made
  }

  /** An attempt failed and is written down. */
  protected noted(_threw: boolean, _result: unknown, _known: Classification | undefined): void {}

  /** The call ended. A failed one rejects once the promise has settled. */
  protected finished(_stopped: StopReason, _result: unknown): PromiseLike<unknown> | undefined {
    return undefined
  }

  protected succeed(value: T): false {
    this.judge(false, value, undefined, undefined)
    if (this.ended) return false // by a listener
    this.end()
    this.finished('succeeded', value)
    if (this.guard.heard) this.tell('succeeded', this.number, {})
    this.resolve(value)
    return false
  }

  /** Ends the call with what came last. */
  protected stop(stopped: StopReason): false {
    const { guard, result, threw, number: attempt, context, signal } = this
    const { fallback } = guard.settings
    if (this.ended) return false
    const held = this.close(threw ? stopped : 'unwanted_value')
    if (!threw) this.resolve(result as T)
    else if (held !== undefined) held.then(() => this.reject(result))
    else if (fallback === undefined) this.reject(result)
    else fallBack(fallback, result, { attempt, context }, signal, this)
    return false
  }

  /** The caller's signal was aborted. */
  abort(reason: unknown): void {
    this.leaveOff(reason, 'aborted')
  }

  /** Ends the call at once, whatever it is doing. */
  protected leaveOff(reason: unknown, stopped: StopReason): void {
    const { running } = this
    if (this.ended) return
    if (running > 0) {
      this.unite?.()
      this.excuse()
      this.credit(this, true, reason, CALLED_OFF, undefined)
      this.record(this, 'failure', true, reason, undefined)
    }
    this.threw = true
    this.result = reason
    const held = this.close(stopped)
    if (held === undefined) this.reject(reason)
    else held.then(() => this.reject(reason))
    if (running > 0) this.cut(reason)
  }

  /** Tells the function that nobody waits for it any more. */
  protected cut(reason: unknown): void {
    this.flight?.abort(reason)
    this.onCut?.(reason)
  }

  /** Takes back a wait or a deadline. */
  protected unwatch(): void {
    const { list, timer } = this
    if (list !== undefined) list.remove(this)
    if (timer === undefined) return
    this.guard.settings.clock.clearTimer(timer)
    this.timer = undefined
  }

  /** Gives the place in the bulkhead back, once nothing of the call runs any more. */
  protected leave(): void {
    if (this.free === undefined || !this.ended || this.unsettled > 0) return
    this.free()
    this.free = undefined
  }

  /** Ends the call and, where it failed, writes its session down. */
  private close(stopped: StopReason): PromiseLike<unknown> | undefined {
    this.end()
    if (this.threw) this.keep(stopped)
    if (this.guard.heard) this.tell('gave_up', this.number, { ...this.outcome(), stopped })
    return this.finished(stopped, this.result)
  }

  private end(): void {
    this.ended = true
    this.running = 0
    this.unwatch()
    if (this.signal !== undefined) unfollow(this.signal, this)
    this.leave()
  }
}
