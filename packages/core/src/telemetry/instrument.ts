import { systemClock } from '../clock.js'
import { isHoldfastError } from '../errors.js'
import type { Guard } from '../guard/guard.js'
import { type OptionProblem, type OptionSpec, parseOptions, throwIfInvalid } from '../options.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import { sessionOf } from '../session/session.js'
import { createCallMetrics, type GuardMetrics } from './metrics.js'
import type { Meter, Span, Tracer } from './types.js'

/** Where the metrics and spans of a guard go. */
export interface InstrumentOptions {
  /** Receives the metrics, such as `metrics.getMeter('shop')` of `@opentelemetry/api`. @defaultValue no metrics */
  meter?: Meter | undefined
  /** Receives a span for each call, such as `trace.getTracer('shop')` of `@opentelemetry/api`. @defaultValue no spans */
  tracer?: Tracer | undefined
}

/** A guard, or a fetch or interceptor with its events, which has metrics only. */
export type InstrumentedGuard = Pick<Guard, 'on'> & Partial<Pick<Guard, 'name' | 'run' | 'wrap'>>

const OPTIONS: OptionSpec = {
  meter: [undefined, ['a Meter', (value: Meter) => typeof value?.createCounter === 'function']],
  tracer: [undefined, ['a Tracer', (value: Tracer) => typeof value?.startActiveSpan === 'function']],
}

/** The status code of a span that failed, `SpanStatusCode.ERROR` of OpenTelemetry. */
const STATUS_ERROR = 2

// oxlint-disable-next-line no-explicit-any -- the types are checked by the signatures of the guard
type AnyFunction = (this: any, ...args: any[]) => any

/** Adds the event of an attempt to the span of its call when the attempt has settled. */
const observeAttempt = (span: Span, fn: AnyFunction, number: () => number): AnyFunction =>
  async function (this: unknown, ...args: unknown[]) {
    const attempt = number()
    const report = (outcome: string, type?: string) =>
      span.addEvent('holdfast.attempt', {
        'holdfast.attempt.number': attempt,
        'holdfast.attempt.outcome': outcome,
        ...(type !== undefined && { 'error.type': type }),
      })
    try {
      const value = await fn.apply(this, args)
      report('success')
      return value
    } catch (error) {
      report('failure', typeOf(unwrapStopRetrying(error)))
      throw error
    }
  }

/** The code of an error of Holdfast, else the name of its class. Messages can contain secrets. */
const typeOf = (error: unknown): string =>
  isHoldfastError(error) ? error.code : error instanceof Error ? error.name : typeof error

/** Observes the calls of one guard. */
class CallInstrument {
  private readonly operation: string
  private readonly tracer: Tracer | undefined
  private readonly metrics: GuardMetrics | undefined
  isActive = true

  constructor(operation: string, tracer: Tracer | undefined, metrics: GuardMetrics | undefined) {
    this.operation = operation
    this.tracer = tracer
    this.metrics = metrics
  }

  /** Runs a call. `start` gets the guarded function, which reports its attempts. */
  observe<T>(fn: AnyFunction, start: (fn: AnyFunction) => Promise<T>): Promise<T> {
    const { tracer, operation, isActive } = this
    if (!isActive || typeof fn !== 'function') return start(fn)
    if (tracer === undefined) return this.awaitEnd(() => start(fn), undefined)
    const attributes = { 'holdfast.operation': operation }
    return tracer.startActiveSpan(operation, { attributes }, (span) => {
      let attempts = 0
      const countAttempt = () => {
        span.setAttribute('holdfast.attempts', ++attempts)
        return attempts
      }
      return this.awaitEnd(() => start(observeAttempt(span, fn, countAttempt)), span)
    })
  }

  private async awaitEnd<T>(call: () => Promise<T>, span: Span | undefined): Promise<T> {
    const startedAt = systemClock.now()
    try {
      return await call()
    } catch (error) {
      const stopped = sessionOf(error)?.stopped
      span?.setStatus({ code: STATUS_ERROR })
      span?.setAttribute('error.type', typeOf(error))
      if (stopped !== undefined) span?.setAttribute('holdfast.stopped', stopped)
      throw error
    } finally {
      this.metrics?.recordDuration(systemClock.now() - startedAt)
      span?.end()
    }
  }
}

/** Replaces a method of an object. Returns the function that restores it. */
function replaceMethod(
  target: object,
  name: string,
  create: (original: AnyFunction) => AnyFunction,
): () => void {
  const before = Object.getOwnPropertyDescriptor(target, name)
  const original = (target as Record<string, AnyFunction | undefined>)[name]
  if (original === undefined) return () => {}
  const replacement = create(original.bind(target))
  Object.defineProperty(target, name, { value: replacement, configurable: true, writable: true })
  return () => {
    // A later replacement calls this one, which then only passes calls on.
    if ((target as Record<string, unknown>)[name] !== replacement) return
    if (before === undefined) delete (target as Record<string, unknown>)[name]
    else Object.defineProperty(target, name, before)
  }
}

/**
 * Reports the calls of a guard to OpenTelemetry: with `meter` their counts and durations, with `tracer` a span for each call
 * with an event for each attempt. Spans inside the guarded function are children of the span of the call. Returns the function
 * that ends it. Spans contain the class or code of errors and not their messages.
 *
 * The package `@opentelemetry/api` is not imported. Functions that `wrap` returned before have counts only.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import { metrics, trace } from '@opentelemetry/api'
 * import { guard } from 'holdfast'
 * import { instrument } from 'holdfast/telemetry'
 *
 * const api = guard({ name: 'api', retry: { backoffType: 'immediate' } })
 * const stop = instrument(api, { meter: metrics.getMeter('shop'), tracer: trace.getTracer('shop') })
 * await api.run(() => 'hello') // => 'hello'
 * stop()
 * ```
 */
export function instrument(guard: InstrumentedGuard, options: InstrumentOptions = {}): () => void {
  const problems: OptionProblem[] = []
  const { meter, tracer } = parseOptions<InstrumentOptions>('', options, {}, OPTIONS, problems)
  throwIfInvalid('the instrumentation of a guard', problems)
  const operation = guard.name ?? 'guard'
  const metrics = meter && createCallMetrics(meter, operation)
  const calls = new CallInstrument(operation, tracer, metrics)
  const observeRun =
    (original: AnyFunction): AnyFunction =>
    (fn: AnyFunction, ...more: unknown[]) =>
      calls.observe(fn, (observed) => original(observed, ...more))
  // `wrap` of a guard can call its `run`, so an observed call uses the original `run` and is observed once.
  const run: AnyFunction | undefined = guard.run?.bind(guard)
  const observeWrap =
    (original: AnyFunction): AnyFunction =>
    (fn: AnyFunction) => {
      const plain = original(fn) as AnyFunction
      return function (this: unknown, ...args: unknown[]) {
        if (!calls.isActive || run === undefined) return plain.apply(this, args)
        return calls.observe(fn, (observed) => run(() => observed.apply(this, args)))
      }
    }
  const undo = [
    metrics && guard.on((event) => metrics.onEvent(event)),
    ...((meter ?? tracer) === undefined
      ? []
      : [
          replaceMethod(guard, 'run', observeRun),
          replaceMethod(guard, 'execute', observeRun),
          replaceMethod(guard, 'wrap', observeWrap),
        ]),
  ]
  return () => {
    calls.isActive = false
    for (const step of undo) step?.()
  }
}
