import { Flight, type Guarded, sessionsKept, startStamp } from 'holdfast/engine'
import type { CallOptions } from '../face.js'
import { RuntimeCall } from './call.js'
import type { Line } from './line.js'
import type { Active, Recorder } from './recorder.js'

/**
 * A call in its first attempt that nothing needs to watch: no deadline, breaker, pool or signal. Most calls are no more than
 * this. One that fails, or that is cancelled, goes on as a {@link RuntimeCall}.
 */
export class FirstTry<T> implements Active {
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  readonly draft = undefined
  private readonly recorder: Recorder
  private readonly line: Line
  private readonly fn: Guarded
  private readonly given: CallOptions | undefined
  private readonly flight = new Flight(1, undefined)
  private readonly startedAt: number
  private readonly kept = sessionsKept()
  private ended = false
  private resolve!: (value: T | PromiseLike<T>) => void

  constructor(recorder: Recorder, line: Line, fn: Guarded, given: CallOptions | undefined) {
    this.recorder = recorder
    this.line = line
    this.fn = fn
    this.given = given
    this.startedAt = startStamp(line.core.settings.clock)
  }

  start(): Promise<T> {
    const promise = new Promise<T>((resolve) => {
      this.resolve = resolve
    })
    this.recorder.began(this)
    let result: unknown
    try {
      result = this.fn(this.flight)
    } catch (error) {
      result = Promise.reject(error)
    }
    ;(result instanceof Promise ? result : Promise.resolve(result)).then(
      (value: T) => {
        if (this.ended) return
        this.ended = true
        this.recorder.firstTry(this, this.line, this.given, this.startedAt)
        this.resolve(value)
      },
      (error: unknown) => {
        if (this.ended) return
        const call = this.becomeCall()
        call.saveContext()
        call.proceed(1, true, error)
      },
    )
    return promise
  }

  cancel(message: string): void {
    this.becomeCall().cancel(message)
  }

  /** Hands what it is over to a call that can do everything. */
  private becomeCall(): RuntimeCall<T> {
    const { recorder, line, fn, given, flight, startedAt, kept } = this
    this.ended = true
    recorder.left(this)
    const call = new RuntimeCall<T>(recorder, line, fn, given)
    recorder.began(call)
    this.resolve(call.promise)
    return call.adopt(flight, 0, startedAt, kept)
  }
}
