import { request } from 'node:http'
import type { Holdfast } from '@holdfast/runtime'
import type { Parts } from './services.js'

/** Where traffic goes. */
export interface Targets {
  readonly weather: string
  readonly legacy: string
  readonly search: string
  readonly catalog: string
  /** The forward proxy of the server itself. */
  readonly proxy: string
}

/** An answer that is a failure, with what a classifier reads of it. */
class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: number
  readonly headers: Headers

  constructor({ status, headers }: Response) {
    super(`answered ${status}`)
    this.status = status
    this.headers = headers
  }
}

async function get(url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, { signal })
  if (!answer.ok) {
    await answer.body?.cancel()
    throw new StatusError(answer)
  }
  return answer.json()
}

/** One request to a target by way of the forward proxy. */
function through(proxy: string, target: string): Promise<number> {
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
class Round {
  private readonly parts: Parts
  private readonly running = new Set<Promise<unknown>>()
  private readonly timers = new Set<unknown>()
  private stopped = false

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Begins `work` about every so many milliseconds. That it fails is what the demonstration is about. */
  every(ms: number, work: () => Promise<unknown>): void {
    const { clock, random } = this.parts
    const turn = (): void => {
      if (this.stopped) return
      const doing: Promise<unknown> = work()
        .catch(() => {})
        .finally(() => this.running.delete(doing))
      this.running.add(doing)
      const timer = clock.setTimer(
        () => {
          this.timers.delete(timer)
          turn()
        },
        ms * (0.5 + random()),
      )
      this.timers.add(timer)
    }
    turn()
  }

  async stop(): Promise<void> {
    this.stopped = true
    for (const timer of this.timers) this.parts.clock.clearTimer(timer)
    await Promise.all(this.running)
  }
}

/** How many items go through the pipeline at a time. */
const BATCH = 4

/** Starts traffic of every kind. What it returns stops it and waits for what is under way. */
export function startTraffic(hf: Holdfast, targets: Targets, parts: Parts): () => Promise<void> {
  const { clock, random } = parts
  const round = new Round(parts)
  const call = (operation: string, url: string) => () =>
    hf.run(operation, ({ signal }) => get(url, signal), { context: { url } })

  round.every(150, call('weather', targets.weather))
  round.every(700, call('legacy', targets.legacy))
  round.every(130, call('search', targets.search))
  round.every(120, () => through(targets.proxy, `${targets.catalog}/items/${Math.floor(random() * 1000)}`))

  // What lies behind the last step is away for eight seconds of every twenty.
  const isAway = (): boolean => clock.now() % 20_000 < 8000
  const pipeline = hf.pipeline([
    { operation: 'mail.fetch', run: (mail: { id: string }) => ({ ...mail, subject: `Mail ${mail.id}` }) },
    {
      operation: 'mail.enrich',
      run: (mail: object) => {
        if (random() < 0.15) throw Object.assign(new Error('the model is overloaded'), { status: 529 })
        return { ...mail, summary: 'something to read' }
      },
    },
    {
      operation: 'mail.save',
      run: (mail: object) => {
        if (isAway() && random() < 0.5)
          throw Object.assign(new Error('the page cannot be written'), { status: 503 })
        return { ...mail, saved: true }
      },
    },
  ])
  let mails = 0
  round.every(1500, () => {
    const batch = Array.from({ length: BATCH }, () => ({ id: `mail-${clock.wall()}-${++mails}` }))
    return pipeline.run(batch)
  })
  const ending = new AbortController()
  round.every(15_000, async () => {
    const { signal } = ending
    if (!isAway()) await hf.deadLetters.replayBatch({ by: 'demo', retryFailed: true, rate: 20, signal })
  })
  return () => {
    ending.abort()
    return round.stop()
  }
}
