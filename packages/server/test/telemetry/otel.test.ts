import { Holdfast } from '@holdfast/runtime'
import { connectOpenTelemetry } from '@holdfast/runtime/internal'
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTelemetry } from '../../src/index.js'

const CONFIG = {
  policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } },
  circuitBreakers: { notion: { failureThreshold: 1 } },
}

const spans = new InMemorySpanExporter()
let metrics: InMemoryMetricExporter
let meters: MeterProvider
let hf: Holdfast
let stop: () => void

beforeEach(async () => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  )
  metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  meters = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 1_000_000 })],
  })
  api.metrics.setGlobalMeterProvider(meters)
  hf = await Holdfast.open({ config: CONFIG, env: {} })
  stop = await openTelemetry(hf)
})

afterEach(async () => {
  stop()
  await hf.close()
  await meters.shutdown()
  api.trace.disable()
  api.metrics.disable()
  api.context.disable()
  spans.reset()
})

const flaky = (failures: number) => {
  let calls = 0
  return async () => {
    if (++calls <= failures) throw new Error('down, at http://ann:hunter2@127.0.0.1/')
    return 'saved'
  }
}

describe('OpenTelemetry', () => {
  it('creates a span for every call and an event for each attempt', async () => {
    await hf.run('quick', () => 'saved')
    await hf.run('quick', flaky(2))
    const [first, second] = spans.getFinishedSpans()
    expect(first).toMatchObject({ name: 'quick', attributes: { 'holdfast.attempts': 1 } })
    expect(first?.events).toMatchObject([
      { name: 'holdfast.attempt', attributes: { 'holdfast.attempt.outcome': 'success' } },
    ])
    expect(second?.attributes).toMatchObject({ 'holdfast.operation': 'quick', 'holdfast.attempts': 3 })
    expect(second?.events.map(({ attributes }) => attributes?.['holdfast.attempt.outcome'])).toEqual([
      'failure',
      'failure',
      'success',
    ])
    expect(second?.status.code).toBe(api.SpanStatusCode.UNSET)
  })

  it('creates a span for calls of execute, which keep their session', async () => {
    const { session } = await hf.guard('quick').execute(flaky(1))
    expect(session.attempts).toHaveLength(2)
    await hf.guardFor('Shop/save', { retry: false }).execute(() => 'saved')
    expect(
      spans.getFinishedSpans().map(({ name, attributes }) => [name, attributes['holdfast.attempts']]),
    ).toEqual([
      ['quick', 2],
      ['Shop/save', 1],
    ])
  })

  it('records the error of a failed call with secrets redacted', async () => {
    await hf.run('quick', flaky(9)).catch(() => {})
    const [span] = spans.getFinishedSpans()
    expect(span?.status.code).toBe(api.SpanStatusCode.ERROR)
    expect(span?.attributes).toMatchObject({ 'error.type': 'Error', 'holdfast.stopped': 'attempts_spent' })
    expect(JSON.stringify([span?.status, span?.events, span?.attributes])).not.toContain('hunter2')
  })

  it('creates a span for a call that a breaker rejected', async () => {
    await hf.breakers.trip('service:notion')
    await hf.run('quick', () => 1, { service: 'notion' }).catch(() => {})
    const [span] = spans.getFinishedSpans()
    expect(span?.attributes).toMatchObject({ 'error.type': 'CIRCUIT_OPEN', 'holdfast.service': 'notion' })
    expect(span?.events).toEqual([])
  })

  it('uses the trace id as the correlation id of calls that have none', async () => {
    await hf.run('quick', flaky(1))
    await hf.run('quick', flaky(1), { correlationId: 'order-7' })
    const { items } = await hf.sessions.list({ order: 'oldest' })
    const [span] = spans.getFinishedSpans()
    expect(items.map(({ correlationId }) => correlationId)).toEqual([span?.spanContext().traceId, 'order-7'])
  })

  it('joins the active trace and is the parent of spans inside the call', async () => {
    const tracer = api.trace.getTracer('test')
    await tracer.startActiveSpan('request', async (outer) => {
      await hf.run('quick', async ({ number }) => {
        tracer.startSpan(`query ${number}`).end()
        if (number === 1) throw new Error('down')
      })
      outer.end()
    })
    const all = spans.getFinishedSpans()
    const by = (name: string) => all.find((span) => span.name === name)
    expect(by('quick')?.parentSpanContext?.spanId).toBe(by('request')?.spanContext().spanId)
    for (const name of ['query 1', 'query 2'])
      expect(by(name)?.parentSpanContext?.spanId).toBe(by('quick')?.spanContext().spanId)
  })

  it('traces guards, pipelines and decorated methods', async () => {
    await hf.guard('quick').run(() => 1)
    await hf.pipeline([{ operation: 'step', run: () => 1 }]).run([{ id: 'a' }])
    await hf.guardFor('Storage/save', { retry: false }).run(() => 1)
    const names = spans.getFinishedSpans().map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['quick', 'Storage/save']))
    expect(names).toHaveLength(3)
  })

  it('exports the metrics of /metrics and durations', async () => {
    await hf.run('quick', flaky(1))
    await hf.breakers.trip('service:notion')
    await meters.forceFlush()
    const [exported] = metrics.getMetrics()
    const found = new Map(
      exported?.scopeMetrics.flatMap(({ metrics: all }) =>
        all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints] as const),
      ),
    )
    const of = (name: string, labels: object) =>
      found
        .get(name)
        ?.find(({ attributes }) => Object.entries(labels).every(([key, is]) => attributes[key] === is))
    expect(of('holdfast_calls', { operation: 'quick', result: 'success', retried: 'true' })?.value).toBe(1)
    expect(of('holdfast_circuit_breaker_state', { id: 'service:notion' })?.value).toBe(2)
    expect(of('holdfast_call_duration_seconds', { operation: 'quick' })?.value).toMatchObject({ count: 1 })
    expect(of('holdfast_attempt_duration_seconds', { operation: 'quick' })?.value).toMatchObject({ count: 2 })
  })

  it('returns and throws what the function returns and throws', async () => {
    const error = new Error('mine')
    expect(await hf.run('quick', () => 7)).toBe(7)
    await expect(hf.run('quick', () => Promise.reject(error))).rejects.toBe(error)
    await expect(
      hf.run('quick', () => {
        throw error
      }),
    ).rejects.toBe(error)
  })

  it('is disconnected by the returned function', async () => {
    stop()
    await hf.run('quick', () => 1)
    expect(spans.getFinishedSpans()).toEqual([])
  })
})

describe('OpenTelemetry without a tracer and a meter', () => {
  it('runs the given function unchanged', async () => {
    const bare = await Holdfast.open({ config: CONFIG, env: {} })
    const none = {
      ...api,
      trace: { getTracer: () => new api.ProxyTracerProvider().getTracer('none') },
      metrics: { getMeter: () => api.createNoopMeter() },
    } as unknown as typeof api
    const seen: unknown[] = []
    const { run } = bare
    bare.run = ((operation: string, fn: never, options: never) => {
      seen.push(fn)
      return run.call(bare, operation, fn, options)
    }) as typeof run
    const end = await connectOpenTelemetry(bare, async () => none)
    const fn = () => 1
    expect(await bare.run('quick', fn)).toBe(1)
    expect(seen).toEqual([fn])
    end()
    await bare.close()
  })
})

describe('without OpenTelemetry', () => {
  it('changes nothing', async () => {
    const bare = await Holdfast.open({ config: CONFIG, env: {} })
    const { run, guardFor } = bare
    await connectOpenTelemetry(bare, () => Promise.reject(new Error('Cannot find package')))
    expect([bare.run, bare.guardFor]).toEqual([run, guardFor])
    expect(Object.hasOwn(bare, 'run')).toBe(false)
    await bare.close()
  })
})
