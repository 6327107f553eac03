import { request } from 'node:http'
import type { Holdfast } from '@holdfast/runtime'
import type { DemoParts } from './services.js'

/** Where traffic goes. */
export interface TrafficTargets {
  readonly weather: string
  readonly legacy: string
  readonly search: string
  readonly catalog: string
  /** The forward proxy of the server itself. */
  readonly proxy: string
}

/** An answer that is a failure, with what a classifier reads of it. */
class DemoStatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: number
  readonly headers: Headers

  constructor({ status, headers }: Response) {
    super(`answered ${status}`)
    this.status = status
    this.headers = headers
  }
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, { signal })
  if (!answer.ok) {
    await answer.body?.cancel()
    throw new DemoStatusError(answer)
  }
  return answer.json()
}

/** One request to a target by way of the forward proxy. */
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

/** Does things over and over, each as often as it should, until it is stopped. */
class TrafficScheduler {
  private readonly parts: DemoParts
  private readonly running = new Set<Promise<unknown>>()
  private readonly timers = new Set<unknown>()
  private isStopped = false

  constructor(parts: DemoParts) {
    this.parts = parts
  }

  /** Begins `work`. That it fails is what the demonstration is about. */
  once(work: () => Promise<unknown>): void {
    const doing: Promise<unknown> = work()
      .catch(() => {})
      .finally(() => this.running.delete(doing))
    this.running.add(doing)
  }

  /** Begins `work` about every so many milliseconds, for the first time now. */
  every(ms: number, work: () => Promise<unknown>): void {
    if (this.isStopped) return
    this.once(work)
    this.after(ms, work)
  }

  /** Begins `work` about every so many milliseconds, for the first time when they are over. */
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

/** How many items go through the pipeline at a time. */
const PIPELINE_BATCH = 4

/** One mail in so many is never saved, however often it is replayed. */
const PERMANENT_FAILURE_EVERY = 37

/** Starts traffic of every kind. What it returns stops it and waits for what is under way. */
export function startTraffic(hf: Holdfast, targets: TrafficTargets, parts: DemoParts): () => Promise<void> {
  const { clock, random } = parts
  const round = new TrafficScheduler(parts)
  const ending = new AbortController()
  const call = (operation: string, url: string) => () =>
    hf.run(operation, ({ signal }) => fetchJson(url, signal), { context: { url }, signal: ending.signal })

  round.every(150, call('weather', targets.weather))
  round.every(700, call('legacy', targets.legacy))
  round.every(130, call('search', targets.search))
  round.every(120, () =>
    requestThroughProxy(targets.proxy, `${targets.catalog}/items/${Math.floor(random() * 1000)}`),
  )

  // What lies behind the last step is away for eight seconds of every twenty.
  const isAway = (): boolean => clock.now() % 20_000 < 8000
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
        if (isAway() && random() < 0.5)
          throw Object.assign(new Error('the page cannot be written'), { status: 503 })
        return { ...mail, saved: true }
      },
    },
  ])
  let mails = 0
  round.every(1500, () => {
    const batch = Array.from({ length: PIPELINE_BATCH }, () => ({
      id: `mail-${clock.wall()}-${++mails}`,
      number: mails,
    }))
    return pipeline.run(batch)
  })
  round.every(15_000, async () => {
    const { signal } = ending
    if (!isAway()) await hf.deadLetters.replayBatch({ by: 'demo', retryFailed: true, rate: 20, signal })
  })
  // A breaker that was open at the last end is open at the start, which is there to be seen.
  round.after(20_000, () => hf.breakers.reset('service:legacy', { by: 'demo', reason: 'perhaps it is back' }))
  round.once(async () => {
    if ((await hf.config.history()).length === 0)
      await hf.policies.put(
        { id: 'search', maxAttempts: 4 },
        { by: 'demo', reason: 'three were too few at the busiest hour' },
      )
  })
  return () => {
    ending.abort()
    return round.stop()
  }
}
