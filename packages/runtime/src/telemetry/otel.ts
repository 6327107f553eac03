import type { Redact } from '@holdfast/records'
import type * as Api from '@opentelemetry/api'
import { type Attempt, isHoldfastError, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { Holdfast } from '../holdfast/holdfast.js'
import { EventCounters } from './event-counters.js'
import { METRICS, type NumberMetric } from './metrics.js'
import { readMetrics } from './read.js'

type TracedRuntime = Holdfast
type RunFunction = TracedRuntime['run']
type Fn<T> = (attempt: Attempt<never>) => T | PromiseLike<T>

/** The attributes of an error, with secrets redacted. */
const redactError = (error: unknown, redact: Redact) => {
  const { name = typeof error, message = String(error) } = Object(error) as Partial<Error>
  return { 'error.type': isHoldfastError(error) ? error.code : name, 'error.message': redact(message) }
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null)?.then === 'function'

/** Calls `onEnd` when a function returns, throws, resolves or rejects. */
function observeResult<T>(
  fn: () => T | PromiseLike<T>,
  onEnd: (error?: { thrown: unknown }) => void,
): T | PromiseLike<T> {
  let result: T | PromiseLike<T>
  try {
    result = fn()
  } catch (thrown) {
    onEnd({ thrown })
    throw thrown
  }
  if (!isPromise(result)) {
    onEnd()
    return result
  }
  return result.then(
    (value) => {
      onEnd()
      return value
    },
    (thrown: unknown) => {
      onEnd({ thrown })
      throw thrown
    },
  )
}

/** How many operations have their own series; the others share `other`. */
const MAX_OPERATIONS = 200

/** Limits the number of label values; further names become `other`. */
function createLabelLimiter(limit: number): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.size < limit) known.add(name)
    return known.has(name) ? name : 'other'
  }
}

/** Creates a span for every call, with an event for each attempt. */
function traceCalls(api: typeof Api, run: RunFunction, redact: Redact): RunFunction {
  const tracer = api.trace.getTracer('holdfast')
  const meter = api.metrics.getMeter('holdfast')
  const describe = (name: 'holdfast_call_duration_seconds' | 'holdfast_attempt_duration_seconds') =>
    meter.createHistogram(name, { description: METRICS[name].help, unit: 's' })
  const callTime = describe('holdfast_call_duration_seconds')
  const attemptTime = describe('holdfast_attempt_duration_seconds')
  const label = createLabelLimiter(MAX_OPERATIONS)
  // Without a meter provider the API returns a shared no-op histogram.
  const isUnmetered = callTime === api.createNoopMeter().createHistogram('none')

  return <T>(operation: string, fn: Fn<T>, options?: Parameters<RunFunction>[2]): Promise<T> => {
    const parent = api.context.active()
    const span = tracer.startSpan(
      options?.name ?? operation,
      { attributes: { 'holdfast.operation': operation, ...poolOf(options) } },
      parent,
    )
    const { traceId } = span.spanContext()
    const isTraced = api.isSpanContextValid(span.spanContext())
    // Without a tracer and a meter the call runs unchanged.
    if (!isTraced && isUnmetered) return run(operation, fn as never, options) as Promise<T>
    const spanContext = api.trace.setSpan(parent, span)
    const usesTraceId = options?.correlationId === undefined && isTraced
    const startedAt = systemClock.now()
    let attempts = 0
    const runAttempt = (attempt: Attempt<never>): T | PromiseLike<T> => {
      const start = systemClock.now()
      attempts = Math.max(attempts, attempt.number)
      return observeResult(
        () => api.context.with(spanContext, () => fn(attempt)),
        (failure) => {
          attemptTime.record((systemClock.now() - start) / 1000, { operation: label(operation) })
          span.addEvent('holdfast.attempt', {
            'holdfast.attempt.number': attempt.number,
            'holdfast.attempt.outcome': failure === undefined ? 'success' : 'failure',
            ...(attempt.member === undefined ? {} : { 'holdfast.member': attempt.member.id }),
            ...(failure === undefined ? {} : redactError(failure.thrown, redact)),
          })
        },
      )
    }
    const onCallEnd = (failure?: { thrown: unknown }): void => {
      callTime.record((systemClock.now() - startedAt) / 1000, { operation: label(operation) })
      span.setAttribute('holdfast.attempts', attempts)
      if (failure !== undefined) {
        const attributes = redactError(failure.thrown, redact)
        const stopped = sessionOf(failure.thrown)?.stopped
        span.setAttributes({
          'error.type': attributes['error.type'],
          ...(stopped && { 'holdfast.stopped': stopped }),
        })
        span.setStatus({ code: api.SpanStatusCode.ERROR, message: attributes['error.message'] })
      }
      span.end()
    }
    const callOptions = usesTraceId ? { ...options, correlationId: traceId } : options
    return observeResult(
      () => run(operation, runAttempt as never, callOptions) as Promise<T>,
      onCallEnd,
    ) as Promise<T>
  }
}

const poolOf = (options: Parameters<RunFunction>[2]): Api.Attributes => ({
  ...(options?.pool === undefined ? {} : { 'holdfast.pool': options.pool }),
  ...(options?.service === undefined ? {} : { 'holdfast.service': options.service }),
})

/** Registers the metrics of `/metrics` with a meter. Durations are not among them: they are recorded when calls end. */
function observeMetrics(api: typeof Api, hf: TracedRuntime): () => void {
  const meter = api.metrics.getMeter('holdfast')
  const counters = new EventCounters(hf)
  const instruments = new Map<NumberMetric, Api.Observable>()
  for (const [name, { type, help: description }] of Object.entries(METRICS)) {
    if (type === 'histogram') continue
    // Exporters add `_total` to the names of counters.
    const short = name.replace(/_total$/, '')
    const instrument =
      type === 'counter'
        ? meter.createObservableCounter(short, { description })
        : meter.createObservableGauge(short, { description })
    instruments.set(name as NumberMetric, instrument)
  }
  const all = [...instruments.values()]
  const observe = async (result: Api.BatchObservableResult): Promise<void> => {
    const { numbers } = await readMetrics(hf, counters, systemClock)
    for (const [name, instrument] of instruments)
      for (const { labels, value } of numbers[name]) result.observe(instrument, value, labels)
  }
  meter.addBatchObservableCallback(observe, all)
  return () => {
    meter.removeBatchObservableCallback(observe, all)
    counters.close()
  }
}

/** A runtime that is connected, by how many callers, and the function that disconnects it. */
interface Connection {
  users: number
  readonly disconnect: () => void
}

/** The connections by API, so that a second one adds no second span to each call. */
const connections = new WeakMap<typeof Api, WeakMap<TracedRuntime, Connection>>()

/**
 * Connects a runtime to the API that `load` returns; does nothing where it cannot be loaded. The function that it resolves with disconnects
 * the runtime, unless another caller has connected it too.
 */
export async function connectOpenTelemetry(
  hf: TracedRuntime,
  load: () => Promise<typeof Api>,
): Promise<() => void> {
  let api: typeof Api
  try {
    api = await load()
  } catch {
    return () => {}
  }
  const connected = connections.get(api) ?? new WeakMap<TracedRuntime, Connection>()
  connections.set(api, connected)
  const connection = connected.get(hf) ?? { users: 0, disconnect: connect(hf, api) }
  connected.set(hf, connection)
  connection.users++
  let isStopped = false
  return () => {
    if (isStopped) return
    isStopped = true
    if (--connection.users > 0) return
    connected.delete(hf)
    connection.disconnect()
  }
}

/** Traces the calls of a runtime and reports its metrics. Returns the function that ends both. */
function connect(hf: TracedRuntime, api: typeof Api): () => void {
  const { run, guardFor } = hf
  const plain = run.bind(hf) as RunFunction
  const redact: Redact = (value) => hf.config.redact(value)
  hf.run = traceCalls(api, plain, redact)
  hf.guardFor = (name, options) => {
    const guard = guardFor.call(hf, name, options)
    for (const method of ['run', 'execute'] as const) {
      const inner = guard[method].bind(guard) as (fn: never, input: never) => Promise<unknown>
      const runInner = ((_: string, fn: never, input: never) => inner(fn, input)) as unknown as RunFunction
      const through = traceCalls(api, runInner, redact)
      guard[method] = ((fn: never, input: never) => through(name, fn, input)) as never
    }
    return guard
  }
  const stop = observeMetrics(api, hf)
  return () => {
    hf.run = run
    hf.guardFor = guardFor
    stop()
  }
}
