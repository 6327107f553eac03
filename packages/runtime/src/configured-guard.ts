import type { Attempt, CircuitBreaker, Executed, Guard, GuardEvent, RunOptions } from 'holdfast'
import { formatInstance, INSPECT, type Inspect } from 'holdfast/internal'
import type { CallOptions, Run } from './api-types.js'
import { checkFunction, isAbsent, mergeFields } from './call-options.js'
import { withSession } from './session-call.js'

/** The parts of a guard that follows the configuration. */
export interface ConfiguredGuardParts {
  run: Run
  breaker(): CircuitBreaker | undefined
  /** Adds a listener for the events of the operation's calls, and of their breakers. @throws INVALID_OPTIONS */
  on(listener: (event: GuardEvent) => void): () => void
}

/** A guard for an operation. Each call uses the configuration that is active when it starts. */
export class ConfiguredGuard implements Guard {
  readonly name: string
  readonly breakers = undefined
  private readonly parts: ConfiguredGuardParts
  private readonly options: CallOptions<unknown> | undefined

  constructor(operation: string, parts: ConfiguredGuardParts, options: CallOptions<unknown> | undefined) {
    this.name = operation
    this.parts = parts
    this.options = options
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return formatInstance('Guard', { name: this.name }, options, inspect)
  }

  get breaker(): CircuitBreaker | undefined {
    return this.parts.breaker()
  }

  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    return this.parts.run(this.name, fn, this.mergeOptions(options))
  }

  execute<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<Executed<T>> {
    const call: Promise<unknown> = this.parts.run(this.name, fn, withSession(this.mergeOptions(options)))
    return call as Promise<Executed<T>>
  }

  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Promise<Awaited<R>> {
    checkFunction('wrap', fn)
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const guard = this
    return function (this: This, ...args: Args) {
      return guard.run(() => fn.apply(this, args)) as Promise<Awaited<R>>
    }
  }

  /** The options of the guard, replaced by those of the call; `retry` and `timeout` field by field. */
  private mergeOptions(options: RunOptions | undefined): CallOptions | undefined {
    // The type of the guard includes the result type of the fallback.
    const defaults = this.options as CallOptions | undefined
    if (options === undefined || defaults === undefined || Object(options) !== options)
      return options === undefined ? defaults : (options as CallOptions)
    const overrides = Object.entries(options).filter(([name, value]) => !isAbsent(name, value))
    return {
      ...defaults,
      ...Object.fromEntries(overrides),
      retry: mergeFields('retry', defaults.retry, options.retry),
      timeout: mergeFields('timeout', defaults.timeout, options.timeout),
    }
  }

  on(listener: (event: GuardEvent) => void): () => void {
    return this.parts.on(listener)
  }
}
