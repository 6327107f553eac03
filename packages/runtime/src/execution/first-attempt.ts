import { HoldfastError, type Member } from 'holdfast'
import { bindContext, type Execution, type FirstAttempt, type FirstAttemptTracker } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { CompiledOperation } from './compiled-operation.js'
import type { ActiveCall, RecordingObserver } from './recording-observer.js'
import { RuntimeCall } from './runtime-call.js'

/** A call in its first attempt. Most calls end with it; one that fails or is cancelled continues as a {@link RuntimeCall}. */
export class TrackedFirstAttempt implements FirstAttemptTracker, ActiveCall {
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  readonly draft = undefined
  private readonly recorder: RecordingObserver
  private readonly line: CompiledOperation
  private readonly options: CallOptions | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(recorder: RecordingObserver, line: CompiledOperation, input: CallOptions | undefined) {
    this.recorder = recorder
    this.line = line
    this.options = input
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.recorder.onStart(this)
  }

  onSuccess({ startedAt }: FirstAttempt<unknown>): void {
    this.recorder.onFirstAttemptSuccess(this, this.line, this.options, startedAt)
  }

  createExecution({ fn }: FirstAttempt<unknown>): Execution<unknown> {
    const { recorder, line, options } = this
    recorder.onReplaced(this)
    const call = new RuntimeCall(recorder, line, fn, options)
    recorder.onStart(call)
    return call.execution
  }

  cancel(message: string): void {
    this.attempt?.cancel(new HoldfastError('CANCELLED', message))
  }
}

/** The only attempt of a disabled operation: nothing is recorded, but `close` waits for it and it can be cancelled. */
export class PassthroughCall implements FirstAttemptTracker, ActiveCall {
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  readonly draft = undefined
  readonly member: Member | undefined
  private readonly recorder: RecordingObserver
  private readonly signal: AbortSignal | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(recorder: RecordingObserver, member: Member | undefined, signal: AbortSignal | undefined) {
    this.recorder = recorder
    this.member = member
    this.signal = signal
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.recorder.onStart(this)
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
    this.recorder.onReplaced(this)
  }
}
