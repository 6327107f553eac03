import { request } from 'node:http'
import type { Holdfast } from '@holdfast/runtime'
import type { DemoParts } from './services.js'

/** The targets of the demo traffic. */
export interface TrafficTargets {
  readonly weather: string
  readonly legacy: string
  readonly search: string
  readonly catalog: string
  /** The forward proxy of the server itself. */
  readonly proxy: string
}

/** A response with an error status, with the fields that the classifier reads. */
class DemoStatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: number
  readonly headers: Headers

  constructor({ status, headers }: Response) {
    super(`responded with status ${status}`)
    this.status = status
    this.headers = headers
  }
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal })
  if (!response.ok) {
    await response.body?.cancel()
    throw new DemoStatusError(response)
  }
  return response.json()
}

/** Sends one request to a target through the forward proxy. */
function requestThroughProxy(proxy: string, target: string): Promise<number> {
  const { hostname, port } = new URL(proxy)
  return new Promise((resolve, reject) => {
    request(
      { hostname, port, path: target, headers: { host: new URL(target).host }, agent: false },
      (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode ?? 0))
        answer.on('error', reject)
      },
    )
      .on('error', reject)
      .end()
  })
}

/** Runs functions repeatedly until it is stopped. */
class TrafficScheduler {
  private readonly parts: DemoParts
  private readonly running = new Set<Promise<unknown>>()
  private readonly timers = new Set<unknown>()
  private isStopped = false

  constructor(parts: DemoParts) {
    this.parts = parts
  }

  /** Starts `work`. Its errors are ignored, because the demo shows failures. */
  once(work: () => Promise<unknown>): void {
    const promise: Promise<unknown> = work()
      .catch(() => {})
      .finally(() => this.running.delete(promise))
    this.running.add(promise)
  }

  /** Starts `work` about every `ms` milliseconds, for the first time now. */
  every(ms: number, work: () => Promise<unknown>): void {
    if (this.isStopped) return
    this.once(work)
    this.after(ms, work)
  }

  /** Starts `work` about every `ms` milliseconds, for the first time after that time. */
  after(ms: number, work: () => Promise<unknown>): void {
    const { clock, random } = this.parts
    const timer = clock.setTimer(
      () => {
        this.timers.delete(timer)
        this.every(ms, work)
      },
      ms * (0.5 + random()),
    )
    this.timers.add(timer)
  }

  async stop(): Promise<void> {
    this.isStopped = true
    for (const timer of this.timers) this.parts.clock.clearTimer(timer)
    await Promise.all(this.running)
  }
}

/** How many items each run of the pipeline has. */
const PIPELINE_BATCH_SIZE = 4

/** One of this many mails always fails, also in replays. */
const PERMANENT_FAILURE_EVERY = 37

/** Starts the demo traffic. The returned function stops it and waits for calls in progress. */
export function startTraffic(hf: Holdfast, targets: TrafficTargets, parts: DemoParts): () => Promise<void> {
  const { clock, random } = parts
  const scheduler = new TrafficScheduler(parts)
  const ending = new AbortController()
  const call = (operation: string, url: string) => () =>
    hf.run(operation, ({ signal }) => fetchJson(url, signal), { context: { url }, signal: ending.signal })

  scheduler.every(150, call('weather', targets.weather))
  scheduler.every(700, call('legacy', targets.legacy))
  scheduler.every(130, call('search', targets.search))
  scheduler.every(120, () =>
    requestThroughProxy(targets.proxy, `${targets.catalog}/items/${Math.floor(random() * 1000)}`),
  )

  // The target of the last step is down for 8 of every 20 seconds.
  const isDown = (): boolean => clock.now() % 20_000 < 8000
  const pipeline = hf.pipeline([
    {
      operation: 'mail.fetch',
      run: (mail: { id: string; number: number }) => ({ ...mail, subject: `Mail ${mail.number}` }),
    },
    {
      operation: 'mail.enrich',
      run: (mail: { number: number }) => {
        if (random() < 0.15) throw Object.assign(new Error('the model is overloaded'), { status: 529 })
        return { ...mail, summary: 'something to read' }
      },
    },
    {
      operation: 'mail.save',
      run: (mail: { number: number }) => {
        if (mail.number % PERMANENT_FAILURE_EVERY === 0)
          throw Object.assign(new Error('the page is archived'), { status: 404 })
        if (isDown() && random() < 0.5)
          throw Object.assign(new Error('the page cannot be written'), { status: 503 })
        return { ...mail, saved: true }
      },
    },
  ])
  let mails = 0
  scheduler.every(1500, () => {
    const batch = Array.from({ length: PIPELINE_BATCH_SIZE }, () => ({
      id: `mail-${clock.wall()}-${++mails}`,
      number: mails,
    }))
    return pipeline.run(batch)
  })
  scheduler.every(15_000, async () => {
    const { signal } = ending
    if (!isDown()) await hf.deadLetters.replayBatch({ by: 'demo', retryFailed: true, rate: 20, signal })
  })
  // A persisted breaker that was open when the demo ended is open at the start, until this reset.
  scheduler.after(20_000, () =>
    hf.breakers.reset('service:legacy', { by: 'demo', reason: 'check whether it has recovered' }),
  )
  scheduler.once(async () => {
    if ((await hf.config.history()).length === 0)
      await hf.policies.put(
        { id: 'search', maxAttempts: 4 },
        { by: 'demo', reason: 'three attempts were too few at peak load' },
      )
  })
  return () => {
    ending.abort()
    return scheduler.stop()
  }
}
