import { decorrelatedJitterGenerator, type GeneratorFn } from './jitter.js'

/** The beginning of a sequence of delays. */
export interface IBackoffFactory<T> {
  /** Returns the next delay. */
  next(context: T): IBackoff<T>
}

/** A delay in a sequence of delays. */
export interface IBackoff<T> extends IBackoffFactory<T> {
  /** The delay in milliseconds. */
  readonly duration: number
}

/** The same delay each time. */
export class ConstantBackoff implements IBackoffFactory<unknown> {
  private readonly interval: number

  constructor(interval: number) {
    this.interval = interval
  }

  next(): IBackoff<unknown> {
    const backoff: IBackoff<unknown> = { duration: this.interval, next: () => backoff }
    return backoff
  }
}

/** The delays of a list; the last one repeats. */
export class IterableBackoff implements IBackoffFactory<unknown> {
  private readonly durations: readonly number[]

  constructor(durations: ReadonlyArray<number>) {
    this.durations = durations
  }

  next(_context?: unknown): IBackoff<unknown> {
    return listedDelay(this.durations, 0)
  }
}

const listedDelay = (durations: readonly number[], index: number): IBackoff<unknown> => ({
  duration: durations[index] as number,
  next: () => listedDelay(durations, Math.min(index + 1, durations.length - 1)),
})

/** Computes a delay from the context and its own state. Returns the delay, or the delay with the next state. */
export type DelegateBackoffFn<T, S = void> = (context: T, state?: S) => { delay: number; state: S } | number

/** The delays that a function computes. */
export class DelegateBackoff<T, S = void> implements IBackoffFactory<T> {
  private readonly fn: DelegateBackoffFn<T, S>

  constructor(fn: DelegateBackoffFn<T, S>) {
    this.fn = fn
  }

  next(context: T): IBackoff<T> {
    return delegatedDelay(this.fn, context, undefined)
  }
}

function delegatedDelay<T, S>(
  fn: DelegateBackoffFn<T, S>,
  context: T,
  lastState: S | undefined,
): IBackoff<T> {
  const result = fn(context, lastState)
  const { delay, state } = typeof result === 'number' ? { delay: result, state: lastState } : result
  return { duration: delay, next: (nextContext) => delegatedDelay(fn, nextContext, state) }
}

/** Options of {@link ExponentialBackoff}. */
export interface IExponentialBackoffOptions<S> {
  /** Computes the delays. @defaultValue decorrelatedJitterGenerator */
  generator: GeneratorFn<S>
  /** The longest delay, in milliseconds. @defaultValue 30000 */
  maxDelay: number
  /** The factor by which delays grow; only the default generator uses it. @defaultValue 2 */
  exponent: number
  /** The first delay, in milliseconds. @defaultValue 128 */
  initialDelay: number
}

/** Delays that grow exponentially. */
export class ExponentialBackoff<S> implements IBackoffFactory<unknown> {
  private readonly options: IExponentialBackoffOptions<S>

  constructor(options?: Partial<IExponentialBackoffOptions<S>>) {
    this.options = {
      generator: decorrelatedJitterGenerator as unknown as GeneratorFn<S>,
      maxDelay: 30_000,
      exponent: 2,
      initialDelay: 128,
      ...options,
    }
  }

  next(): IBackoff<unknown> {
    return generatedDelay(this.options, undefined)
  }
}

function generatedDelay<S>(
  options: IExponentialBackoffOptions<S>,
  lastState: S | undefined,
): IBackoff<unknown> {
  const [duration, state] = options.generator(lastState, options)
  return { duration, next: () => generatedDelay(options, state) }
}
