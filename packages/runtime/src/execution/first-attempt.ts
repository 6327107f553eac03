import { HoldfastError, type Member } from 'holdfast'
import { bindContext, type Execution, type FirstAttempt, type FirstAttemptTracker } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { ActiveCalls } from '../observation/active-calls.js'
import type { CallObservers } from '../observation/call-observers.js'
import type { ActiveCall, UnrecordedCall } from '../observation/observed-call.js'
import type { CompiledOperation } from './compiled-operation.js'
import { RuntimeCall } from './runtime-call.js'

/**
 * A call in its first attempt. Most calls end with it; a call that fails or is cancelled continues as a {@link
 * RuntimeCall}.
 */
export class TrackedFirstAttempt implements FirstAttemptTracker, UnrecordedCall {
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  readonly draft = undefined
  private readonly observers: CallObservers
  private readonly operation: CompiledOperation
  private readonly options: CallOptions<unknown> | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(
    observers: CallObservers,
    operation: CompiledOperation,
    options: CallOptions<unknown> | undefined,
  ) {
    this.observers = observers
    this.operation = operation
    this.options = options
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.observers.active.add(this)
  }

  onSuccess({ startedAt }: FirstAttempt<unknown>): void {
    this.observers.onFirstAttemptSuccess(this, this.operation, this.options, startedAt)
  }

  createExecution({ fn }: FirstAttempt<unknown>): Execution<unknown> {
    const { observers, operation, options } = this
    observers.active.remove(this)
    const call = new RuntimeCall(observers, operation, fn, options)
    observers.active.add(call)
    return call.execution
  }

  cancel(message: string): void {
    this.attempt?.cancel(new HoldfastError('CANCELLED', message))
  }
}

/** The only attempt of a disabled operation. It is not recorded, but `close` waits for it and can cancel it. */
export class PassthroughCall implements FirstAttemptTracker, UnrecordedCall {
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  readonly draft = undefined
  readonly member: Member | undefined
  private readonly active: ActiveCalls
  private readonly signal: AbortSignal | undefined
  private attempt: FirstAttempt<unknown> | undefined = undefined

  constructor(active: ActiveCalls, member: Member | undefined, signal: AbortSignal | undefined) {
    this.active = active
    this.member = member
    this.signal = signal
  }

  onStart(attempt: FirstAttempt<unknown>): void {
    this.attempt = attempt
    this.active.add(this)
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
    this.active.remove(this)
  }
}
