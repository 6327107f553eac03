// Spans were redacted without the keys and patterns of `redact`, unlike records of the same call.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast, openTelemetry } from '@holdfast/runtime'
import * as api from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'

const spans = new InMemorySpanExporter()

beforeEach(() => {
  const spanProcessors = [new SimpleSpanProcessor(spans)]
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }))
})

afterEach(() => {
  api.trace.disable()
  spans.reset()
})

async function openTraced(config: object | string): Promise<Holdfast> {
  const hf = await Holdfast.open({ config, store: 'memory', env: {}, watch: false })
  const stop = await openTelemetry(hf)
  onTestFinished(async () => {
    stop()
    await hf.close()
  })
  return hf
}

const fail = () => {
  throw new Error('paid from ACCT-77 with pin: 1234')
}

/** The message of the status and of the attempt of the span that ended last. */
function lastMessages(): unknown[] {
  const span = spans.getFinishedSpans().at(-1)
  return [span?.status.message, span?.events[0]?.attributes?.['error.message']]
}

const POLICIES = { once: { maxAttempts: 1 } }
const REDACTED = 'paid from [redacted] with pin: [redacted]'

describe('the span of a failed call', () => {
  it('contains no value of a key and no match of a pattern of `redact`', async () => {
    const hf = await openTraced({ policies: POLICIES, redact: { keys: ['pin'], patterns: ['ACCT-\\d+'] } })
    await hf.run('once', fail).catch(() => {})
    expect(lastMessages()).toEqual([REDACTED, REDACTED])
  })

  it('of a guard for a decorated method contains no match of a pattern of `redact`', async () => {
    const hf = await openTraced({ policies: POLICIES, redact: { keys: ['pin'], patterns: ['ACCT-\\d+'] } })
    await hf
      .guardFor('Shop/pay', { retry: false })
      .run(fail)
      .catch(() => {})
    expect(lastMessages()).toEqual([REDACTED, REDACTED])
  })

  it('contains no match of a pattern that a reload has added', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-spans-'))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const file = join(dir, 'holdfast.json')
    await writeFile(file, JSON.stringify({ version: '1.0.0', policies: { once: { max_attempts: 1 } } }))
    const hf = await openTraced(file)
    await hf.run('once', fail).catch(() => {})
    expect(lastMessages()).toEqual(['paid from ACCT-77 with pin: 1234', 'paid from ACCT-77 with pin: 1234'])
    const redact = { keys: ['pin'], patterns: ['ACCT-\\d+'] }
    await writeFile(
      file,
      JSON.stringify({ version: '1.0.0', policies: { once: { max_attempts: 1 } }, redact }),
    )
    await hf.config.reload()
    await hf.run('once', fail).catch(() => {})
    expect(lastMessages()).toEqual([REDACTED, REDACTED])
  })
})
