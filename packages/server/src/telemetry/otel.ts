import type { Holdfast } from '@holdfast/runtime'
import type * as Api from '@opentelemetry/api'
import { type Attempt, isHoldfastError, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { redactText } from '../http/redact.js'
import { EventCounters } from './event-counters.js'
import { METRICS, type NumberMetric } from './metrics.js'
import { readMetrics } from './read.js'

type TracedRuntime = Holdfast
type RunFunction = TracedRuntime['run']
type Fn<T> = (attempt: Attempt<never>) => T | PromiseLike<T>

/** An error in the words that may leave the process. */
const redactError = (error: unknown) => {
  const { name = typeof error, message = String(error) } = Object(error) as Partial<Error>
  return { 'error.type': isHoldfastError(error) ? error.code : name, 'error.message': redactText(message) }
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null)?.then === 'function'

/** Tells `ended` how a function ends, whichever way it does. */
function observeResult<T>(
  fn: () => T | PromiseLike<T>,
  ended: (error?: { thrown: unknown }) => void,
): T | PromiseLike<T> {
  let result: T | PromiseLike<T>
  try {
    result = fn()
  } catch (thrown) {
    ended({ thrown })
    throw thrown
  }
  if (!isPromise(result)) {
    ended()
    return result
  }
  return result.then(
    (value) => {
      ended()
      return value
    },
    (thrown: unknown) => {
      ended({ thrown })
      throw thrown
    },
  )
}

/** How many operations have numbers of their own. */
const MAX_OPERATIONS = 200

/** Keeps the names that become labels few, whatever calls are made. */
function createLabelLimiter(room: number): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.size < room) known.add(name)
    return known.has(name) ? name : 'other'
  }
}

/** Makes a span of every call, with an event for each of its attempts. */
function traceCalls(api: typeof Api, run: RunFunction): RunFunction {
  const tracer = api.trace.getTracer('holdfast')
  const meter = api.metrics.getMeter('holdfast')
  const describe = (name: 'holdfast_call_duration_seconds' | 'holdfast_attempt_duration_seconds') =>
    meter.createHistogram(name, { description: METRICS[name].help, unit: 's' })
  const callTime = describe('holdfast_call_duration_seconds')
  const attemptTime = describe('holdfast_attempt_duration_seconds')
  const label = createLabelLimiter(MAX_OPERATIONS)
  // What stands in for a meter where nobody has set one up.
  const unmetered = callTime === api.createNoopMeter().createHistogram('none')

  return <T>(operation: string, fn: Fn<T>, options?: Parameters<RunFunction>[2]): Promise<T> => {
    const parent = api.context.active()
    const span = tracer.startSpan(
      options?.name ?? operation,
      { attributes: { 'holdfast.operation': operation, ...poolOf(options) } },
      parent,
    )
    const { traceId } = span.spanContext()
    const real = api.isSpanContextValid(span.spanContext())
    // Nobody listens: the call is what it would be without.
    if (!real && unmetered) return run(operation, fn as never, options) as Promise<T>
    const inside = api.trace.setSpan(parent, span)
    const own = options?.correlationId === undefined && real
    const began = systemClock.now()
    let attempts = 0
    const attempted = (attempt: Attempt<never>): T | PromiseLike<T> => {
      const start = systemClock.now()
      attempts = Math.max(attempts, attempt.number)
      return observeResult(
        () => api.context.with(inside, () => fn(attempt)),
        (failed) => {
          attemptTime.record((systemClock.now() - start) / 1000, { operation: label(operation) })
          span.addEvent('holdfast.attempt', {
            'holdfast.attempt.number': attempt.number,
            'holdfast.attempt.outcome': failed === undefined ? 'success' : 'failure',
            ...(attempt.member === undefined ? {} : { 'holdfast.member': attempt.member.id }),
            ...(failed === undefined ? {} : redactError(failed.thrown)),
          })
        },
      )
    }
    const ended = (failed?: { thrown: unknown }): void => {
      callTime.record((systemClock.now() - began) / 1000, { operation: label(operation) })
      span.setAttribute('holdfast.attempts', attempts)
      if (failed !== undefined) {
        const words = redactError(failed.thrown)
        const stopped = sessionOf(failed.thrown)?.stopped
        span.setAttributes({
          'error.type': words['error.type'],
          ...(stopped && { 'holdfast.stopped': stopped }),
        })
        span.setStatus({ code: api.SpanStatusCode.ERROR, message: words['error.message'] })
      }
      span.end()
    }
    const input = own ? { ...options, correlationId: traceId } : options
    return observeResult(() => run(operation, attempted as never, input) as Promise<T>, ended) as Promise<T>
  }
}

const poolOf = (options: Parameters<RunFunction>[2]): Api.Attributes => ({
  ...(options?.pool === undefined ? {} : { 'holdfast.pool': options.pool }),
  ...(options?.service === undefined ? {} : { 'holdfast.service': options.service }),
})

/** The numbers of `/metrics` for a meter; durations are recorded as calls end. */
function observeMetrics(api: typeof Api, hf: TracedRuntime): () => void {
  const meter = api.metrics.getMeter('holdfast')
  const tallies = new EventCounters(hf)
  const instruments = new Map<NumberMetric, Api.Observable>()
  for (const [name, { type, help: description }] of Object.entries(METRICS)) {
    if (type === 'histogram') continue
    // What reads them adds `_total` by itself.
    const short = name.replace(/_total$/, '')
    const created =
      type === 'counter'
        ? meter.createObservableCounter(short, { description })
        : meter.createObservableGauge(short, { description })
    instruments.set(name as NumberMetric, created)
  }
  const all = [...instruments.values()]
  const observe = async (result: Api.BatchObservableResult): Promise<void> => {
    const { numbers } = await readMetrics(hf, tallies, systemClock)
    for (const [name, instrument] of instruments)
      for (const { labels, value } of numbers[name]) result.observe(instrument, value, labels)
  }
  meter.addBatchObservableCallback(observe, all)
  return () => {
    meter.removeBatchObservableCallback(observe, all)
    tallies.close()
  }
}

/** Tells what `load` loads of a runtime; nothing where it cannot be loaded. The function it resolves with takes that back. */
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
  const { run, guardFor } = hf
  const plain = run.bind(hf) as RunFunction
  hf.run = traceCalls(api, plain)
  hf.guardFor = (name, options) => {
    const created = guardFor.call(hf, name, options)
    const inner = created.run.bind(created)
    const through = traceCalls(api, ((_: string, fn: never, input: never) =>
      inner(fn, input)) as unknown as RunFunction)
    created.run = ((fn: never, input: never) => through(name, fn, input)) as typeof created.run
    return created
  }
  const stop = observeMetrics(api, hf)
  return () => {
    hf.run = run
    hf.guardFor = guardFor
    stop()
  }
}
