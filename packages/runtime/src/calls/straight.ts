import type { Attempt, Member } from 'holdfast'
import { HoldfastError } from 'holdfast'
import { bindContext, Flight } from 'holdfast/engine'
import type { Active, Recorder } from './recorder.js'

/**
 * A call of an operation that is switched off: it is made once, nothing of it is recorded or judged, and yet it has its member
 * and its signal, and `close` waits for it.
 */
export class StraightCall<T> implements Active {
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  readonly draft = undefined
  private readonly recorder: Recorder
  private readonly flight: Flight
  private readonly signal: AbortSignal | undefined
  private over = false
  private end!: { resolve(value: T | PromiseLike<T>): void; reject(error: unknown): void }

  constructor(recorder: Recorder, member: Member | undefined, signal: AbortSignal | undefined) {
    this.recorder = recorder
    this.flight = new Flight(1, member)
    this.signal = signal
  }

  start(fn: (attempt: Attempt) => T | PromiseLike<T>): Promise<T> {
    const { signal, recorder, flight } = this
    if (signal?.aborted) return Promise.reject(signal.reason)
    const promise = new Promise<T>((resolve, reject) => {
      this.end = { resolve, reject }
    })
    recorder.began(this)
    signal?.addEventListener('abort', this.abort, { once: true })
    const made = (async () => fn(flight))()
    made.then(
      (value) => this.leave(() => this.end.resolve(value)),
      (error) => this.leave(() => this.end.reject(error)),
    )
    return promise
  }

  cancel(message: string): void {
    this.stop(new HoldfastError('CANCELLED', message))
  }

  private readonly abort = bindContext(() => this.stop(this.signal?.reason))

  private stop(reason: unknown): void {
    this.leave(() => {
      this.end.reject(reason)
      this.flight.abort(reason)
    })
  }

  private leave(settle: () => void): void {
    if (this.over) return
    this.over = true
    this.signal?.removeEventListener('abort', this.abort)
    this.recorder.left(this)
    settle()
  }
}
