import { HoldfastError, type Member } from 'holdfast'
import { bindContext, type Execution, type FirstAttempt, type FirstAttemptTracker } from 'holdfast/internal'
import type { CallOptions } from '../face.js'
import { RuntimeCall } from './call.js'
import type { Line } from './line.js'
import type { Active, Recorder } from './recorder.js'

/** A call in its first attempt. Most calls end with it; one that fails or is cancelled continues as a {@link RuntimeCall}. */
export class TrackedFirstAttempt implements FirstAttemptTracker, Active {
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  readonly draft = undefined
  private readonly recorder: Recorder
  private readonly line: Line
  private readonly given: CallOptions | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(recorder: Recorder, line: Line, given: CallOptions | undefined) {
    this.recorder = recorder
    this.line = line
    this.given = given
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.recorder.began(this)
  }

  onSuccess({ startedAt }: FirstAttempt<unknown>): void {
    this.recorder.firstTry(this, this.line, this.given, startedAt)
  }

  createExecution({ fn }: FirstAttempt<unknown>): Execution<unknown> {
    const { recorder, line, given } = this
    recorder.left(this)
    const call = new RuntimeCall(recorder, line, fn, given)
    recorder.began(call)
    return call.execution
  }

  cancel(message: string): void {
    this.attempt?.cancel(new HoldfastError('CANCELLED', message))
  }
}

/** The only attempt of a disabled operation: nothing is recorded, but `close` waits for it and it can be cancelled. */
export class PassthroughCall implements FirstAttemptTracker, Active {
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  readonly draft = undefined
  readonly member: Member | undefined
  private readonly recorder: Recorder
  private readonly signal: AbortSignal | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(recorder: Recorder, member: Member | undefined, signal: AbortSignal | undefined) {
    this.recorder = recorder
    this.member = member
    this.signal = signal
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.recorder.began(this)
    this.signal?.addEventListener('abort', this.onAbort, { once: true })
  }

  onSuccess(): void {
    this.end()
  }

  createExecution(): undefined {
    this.end()
  }

  cancel(message: string): void {
    this.attempt?.cancel(new HoldfastError('CANCELLED', message))
  }

  private readonly onAbort = bindContext(() => this.attempt?.cancel(this.signal?.reason))

  private end(): void {
    this.signal?.removeEventListener('abort', this.onAbort)
    this.recorder.left(this)
  }
}
