import type { Attempt, CircuitBreaker, Guard, GuardEvent, RunOptions, StopReason } from 'holdfast'
import { HoldfastError } from 'holdfast'
import type { CallOptions, Run } from './face.js'
import type { RetryEvent } from './records/session.js'

/** What a guard that follows the configuration is made of. */
export interface LiveParts {
  run: Run
  breaker(): CircuitBreaker | undefined
  /** Tells of events of the operation. */
  on(listener: (event: RetryEvent) => void): () => void
}

/** A guard for an operation, whose every call goes by the configuration of the moment it begins. */
export class LiveGuard implements Guard {
  readonly name: string
  readonly breakers = undefined
  private readonly parts: LiveParts
  private readonly options: CallOptions | undefined

  constructor(operation: string, parts: LiveParts, options: CallOptions | undefined) {
    this.name = operation
    this.parts = parts
    this.options = options
  }

  get breaker(): CircuitBreaker | undefined {
    return this.parts.breaker()
  }

  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    if (options === undefined) return this.parts.run(this.name, fn, this.options)
    const { signal, context, retry } = options
    if (retry !== undefined)
      return Promise.reject(
        new HoldfastError(
          'INVALID_OPTIONS',
          `retry: the guard ${this.name} follows the configuration; give a policy to hf.run instead`,
        ),
      )
    return this.parts.run(this.name, fn, {
      ...this.options,
      ...(signal !== undefined && { signal }),
      ...(context !== undefined && { context: context as Record<string, unknown> }),
    })
  }

  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Promise<Awaited<R>> {
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const guard = this
    return function (this: This, ...args: Args) {
      return guard.run(() => fn.apply(this, args)) as Promise<Awaited<R>>
    }
  }

  on(listener: (event: GuardEvent) => void): () => void {
    return this.parts.on((event) => {
      const told = guardEvent(event)
      if (told !== undefined) listener(told)
    })
  }
}

/** An event of the runtime in the words of a guard's. */
function guardEvent(event: RetryEvent): GuardEvent | undefined {
  const { eventType, operation, attempt, context, error } = event
  const base = { name: operation ?? undefined, timestamp: event.timestamp.getTime(), context }
  const number = attempt ?? 1
  if (eventType === 'retry_attempt')
    return {
      type: 'retry_scheduled',
      ...base,
      attempt: number,
      maxAttempts: event.maxAttempts ?? 1,
      delay: event.delay ?? 0,
      error,
    }
  if (eventType === 'retry_success') return { type: 'succeeded', ...base, attempt: number }
  if (eventType !== 'retry_failure') return undefined
  const stopped = (context?.stopped ?? 'attempts_spent') as StopReason
  return { type: 'gave_up', ...base, attempt: number, error, stopped }
}
