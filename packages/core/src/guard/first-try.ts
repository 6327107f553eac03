import { Flight } from './attempt.js'
import { Call, type Guarded } from './call.js'
import type { GuardCore } from './core.js'
import { Timed } from './deadlines.js'
import { newPromise, type Settling } from './promise.js'
import { sessionsKept } from './session.js'

/**
 * A call in its first attempt that only has a deadline. Most calls are no more than this, and it holds no more than their
 * cost allows with thousands in flight. One that fails, or whose time is up, goes on as a {@link Call}.
 */
export class FirstTry<T> extends Timed implements Settling<T> {
  resolve!: (value: T) => void
  reject!: (error: unknown) => void
  private readonly guard: GuardCore
  private readonly fn: Guarded
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly flight: Flight | undefined
  private readonly epoch: number
  private readonly kept = sessionsKept()

  constructor(guard: GuardCore, fn: Guarded, self: unknown, args: unknown[] | undefined) {
    super()
    this.guard = guard
    this.fn = fn
    this.self = self
    this.args = args
    this.flight = args === undefined ? new Flight(1, undefined) : undefined
    this.epoch = guard.breaker === undefined ? 0 : guard.breaker.epoch
  }

  start(): Promise<T> {
    const { guard, fn, self, args, flight } = this
    const promise = newPromise(this)
    guard.firstDeadlines.add(this, guard.settings.clock.now())
    let returned: unknown
    try {
      if (args === undefined) returned = fn(flight)
      else returned = args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args)
    } catch (error) {
      returned = Promise.reject(error)
    }
    ;(returned instanceof Promise ? returned : Promise.resolve(returned)).then(
      this.succeed.bind(this),
      this.fail.bind(this),
    )
    return promise
  }

  override expire(due: number): void {
    this.goOn().expire(due)
  }

  private succeed(value: T): void {
    const { list, guard, epoch } = this
    if (list === undefined) return // its time was up
    list.remove(this)
    if (!guard.passive) guard.count(epoch)
    this.resolve(value)
  }

  private fail(error: unknown): void {
    const { list } = this
    if (list === undefined) return
    list.remove(this)
    this.goOn().proceed(1, true, error)
  }

  /** Hands what it is over to a call that can do everything. */
  private goOn(): Call<T> {
    const { guard, fn, self, args, flight, epoch, startedAt, kept } = this
    const call = new Call<T>(guard, fn, self, args, guard.settings.retry, undefined)
    call.resolve = this.resolve
    call.reject = this.reject
    return call.adopt(flight, epoch, startedAt, kept)
  }
}
