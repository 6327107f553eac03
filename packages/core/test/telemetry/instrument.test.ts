import { context, type Meter, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { guard, stopRetrying } from '../../src/index.js'
import { instrument } from '../../src/telemetry/index.js'

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager()))
afterAll(() => context.disable())

function tracing() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { tracer: provider.getTracer('test'), spans: () => exporter.getFinishedSpans() }
}

function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })
  const meter: Meter = new MeterProvider({ readers: [reader] }).getMeter('test')
  /** The values of a metric by its labels. */
  const read = async (name: string): Promise<Record<string, unknown>> => {
    await reader.forceFlush()
    const metrics =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
    const points = metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
    return Object.fromEntries(
      points.map(({ attributes, value }) => [
        Object.values(attributes).join(' '),
        typeof value === 'object' ? value.count : value,
      ]),
    )
  }
  return { meter, read }
}

const failTwice = () => {
  let calls = 0
  return async () => {
    if (++calls < 3)
      throw new TypeError(`fetch failed with secret-${calls}`, { cause: { code: 'ECONNRESET' } })
    return 'done'
  }
}

const RETRY = { maxAttempts: 3, backoffType: 'immediate' } as const

describe('instrument with a tracer', () => {
  it('creates a span for each call, with an event for each attempt and no messages of errors', async () => {
    const api = guard({ name: 'api', retry: RETRY })
    const { tracer, spans } = tracing()
    instrument(api, { tracer })

    expect(await api.run(failTwice())).toBe('done')
    const [span] = spans()
    expect(span?.name).toBe('api')
    expect(span?.attributes).toEqual({ 'holdfast.operation': 'api', 'holdfast.attempts': 3 })
    expect(span?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['holdfast.attempt', attemptOf(1, 'failure', 'TypeError')],
      ['holdfast.attempt', attemptOf(2, 'failure', 'TypeError')],
      ['holdfast.attempt', attemptOf(3, 'success')],
    ])
    expect(JSON.stringify([span?.attributes, span?.events, span?.status])).not.toContain('secret')
  })

  it('marks the span of a call that fails, with the class of the error and the stop reason', async () => {
    const api = guard({ name: 'api', retry: { ...RETRY, maxAttempts: 1 }, breaker: { failureThreshold: 1 } })
    const { tracer, spans } = tracing()
    instrument(api, { tracer })
    await api.run(failTwice()).catch(() => {})
    await api.run(failTwice()).catch(() => {})

    expect(
      spans().map(({ attributes, status }) => [
        attributes['error.type'],
        attributes['holdfast.stopped'],
        status.code,
      ]),
    ).toEqual([
      ['TypeError', 'attempts_spent', 2],
      ['CIRCUIT_OPEN', 'circuit_open', 2],
    ])
  })

  it('reports the class of the error that was passed to stopRetrying', async () => {
    const api = guard({ name: 'api', retry: RETRY })
    const { tracer, spans } = tracing()
    instrument(api, { tracer })
    await api.run(() => Promise.reject(stopRetrying(new RangeError('closed')))).catch(() => {})
    expect(spans()[0]?.events.map(({ attributes }) => attributes)).toEqual([
      attemptOf(1, 'failure', 'RangeError'),
    ])
  })

  it('makes spans inside the function children of the span of the call', async () => {
    const api = guard({ name: 'api', retry: false })
    const { tracer, spans } = tracing()
    instrument(api, { tracer })
    await api.run(async () => {
      await Promise.resolve()
      tracer.startSpan('query').end()
    })
    const [query, call] = spans()
    expect(query?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId)
    expect(trace.getActiveSpan()).toBeUndefined()
  })

  it('traces functions that wrap returns, with their arguments and this', async () => {
    const api = guard({ name: 'api', retry: RETRY })
    const { tracer, spans } = tracing()
    const stop = instrument(api, { tracer })
    const owner = {
      factor: 2,
      double: api.wrap(async function (this: { factor: number }, value: number) {
        return value * this.factor
      }),
    }
    expect(await owner.double(21)).toBe(42)
    expect(spans()).toHaveLength(1)
    stop()
    expect(await owner.double(4)).toBe(8)
    expect(spans()).toHaveLength(1)
  })

  it('passes the attempt and the options of a call on', async () => {
    const api = guard({ name: 'api', retry: RETRY })
    instrument(api, { tracer: tracing().tracer })
    const seen: unknown[] = []
    api.on((event) => void seen.push('context' in event && event.context))
    expect(await api.run(({ number }) => number, { context: 'c' })).toBe(1)
    expect(seen).toEqual(['c'])
    await expect(api.run(() => 1, { unknown: 1 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('instrument with a meter', () => {
  it('counts calls, retries, rejections and state changes of the breaker, and measures durations', async () => {
    const api = guard({ name: 'api', retry: RETRY, breaker: { failureThreshold: 4 } })
    const { meter, read } = metering()
    instrument(api, { meter })
    await api.run(() => 'first')
    await api.run(failTwice())
    const fail = () => Promise.reject(new TypeError('down', { cause: { code: 'ECONNRESET' } }))
    await api.run(fail).catch(() => {})
    await api.run(fail).catch(() => {})

    expect(await read('holdfast_calls')).toEqual({
      'api success false': 1,
      'api success true': 1,
      'api failure true': 1,
      'api failure false': 1,
    })
    expect(await read('holdfast_retries')).toEqual({ api: 3 })
    expect(await read('holdfast_rejections')).toEqual({ 'api circuit_open': 1 })
    expect(await read('holdfast_circuit_breaker_transitions')).toEqual({ 'api open': 1 })
    expect(await read('holdfast_call_duration_seconds')).toEqual({ api: 4 })
  })

  it('measures the time in which the function blocks the event loop', async () => {
    const durations: number[] = []
    const meter = {
      createCounter: () => ({ add: () => {} }),
      createHistogram: () => ({ record: (seconds: number) => void durations.push(seconds) }),
    }
    const api = guard({ name: 'api' })
    instrument(api, { meter })
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const block = () => void vi.advanceTimersByTime(20)
    await api.run(block)
    await api.wrap(block)()
    expect(durations).toEqual([0.02, 0.02])
  })

  it('measures a call of execute once, even if the guard is disabled', async () => {
    const api = guard({ name: 'api', enabled: false })
    const { meter, read } = metering()
    instrument(api, { meter })
    await api.execute(() => 'sent')
    expect(await read('holdfast_call_duration_seconds')).toEqual({ api: 1 })
  })

  it('measures a function that wrap returns once, even if wrap calls run', async () => {
    const api = {
      name: 'api',
      on: () => () => {},
      run: async <T>(fn: (attempt: never) => T) => fn(undefined as never),
      wrap(fn: () => unknown) {
        return () => this.run(fn)
      },
    }
    const { meter, read } = metering()
    instrument(api as never, { meter })
    await api.wrap(() => 'sent')()
    expect(await read('holdfast_call_duration_seconds')).toEqual({ api: 1 })
  })

  it('counts the requests of a fetch', async () => {
    const resilient = createFetch({ name: 'api', fetch: async () => new Response('ok') })
    const { meter, read } = metering()
    const stop = instrument(resilient, { meter })
    await resilient('https://api.example')
    stop()
    await resilient('https://api.example')
    expect(Object.values(await read('holdfast_calls'))).toEqual([1])
  })
})

describe('the function that instrument returns', () => {
  it('restores the guard', async () => {
    const api = guard({ name: 'api', retry: RETRY })
    const { run, wrap } = api
    const { meter, read } = metering()
    const { tracer, spans } = tracing()
    const stop = instrument(api, { meter, tracer })
    expect(api.run).not.toBe(run)
    stop()
    expect([api.run, api.wrap]).toEqual([run, wrap])
    await api.run(() => 1)
    expect(spans()).toEqual([])
    expect(await read('holdfast_calls')).toEqual({})
  })
})

it('instruments of one guard can be ended in any order', async () => {
  const api = guard({ name: 'api' })
  const [first, second] = [tracing(), tracing()]
  const stopFirst = instrument(api, { tracer: first.tracer })
  const stopSecond = instrument(api, { tracer: second.tracer })
  stopFirst()
  await api.run(() => 1)
  expect([first.spans().length, second.spans().length]).toEqual([0, 1])
  stopSecond()
  await api.run(() => 1)
  expect([first.spans().length, second.spans().length]).toEqual([0, 1])
})

it('instrument rejects options that are not a meter or a tracer', () => {
  const api = guard()
  expect(() => instrument(api, { meter: {} as never })).toThrow(/meter: expected a Meter/)
  expect(() => instrument(api, { traces: 1 } as never)).toThrow(/traces/)
  expect(() => instrument(api)()).not.toThrow()
})

const attemptOf = (number: number, outcome: string, type?: string) => ({
  'holdfast.attempt.number': number,
  'holdfast.attempt.outcome': outcome,
  ...(type !== undefined && { 'error.type': type }),
})
