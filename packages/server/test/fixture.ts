import { Holdfast } from '@holdfast/runtime'
import { type FakeClock, fakeClock, seededRandom } from 'holdfast/testing'
import { onTestFinished } from 'vitest'
import { type ClosableApp, createApp } from '../src/app/app.js'
import { type AppOptions } from '../src/options.js'

/** Two pools, three policies, a mapping and a shared breaker: something of everything that there is to see. */
export const CONFIG = {
  version: '1.1.0',
  policies: {
    quick: { maxAttempts: 3, backoffType: 'immediate' },
    mapped: { name: 'Mapped', maxAttempts: 2, baseDelay: 10 },
    guarded: { enableCircuitBreaker: true, circuitBreakerThreshold: 2, maxAttempts: 1 },
  },
  circuitBreakers: { notion: { failureThreshold: 2, timeoutDuration: 30_000 } },
  subsystemMappings: { browser: { save: { default: 'mapped' } } },
  pools: {
    proxies: {
      strategy: 'round_robin',
      members: [
        { id: 'p1', url: 'http://ann:hunter2@127.0.0.1:9001', weight: 2, region: 'eu' },
        { id: 'p2', url: 'http://127.0.0.1:9002' },
      ],
    },
  },
  alerts: { webhook: 'http://bob:hunter2@127.0.0.1:9/hook', secret: 'hunter2' },
}

export interface Fixture {
  hf: Holdfast
  app: ClosableApp
  clock: FakeClock
  /** Asks the app; the body of the answer is read as JSON where it is. */
  ask(method: string, path: string, options?: AskOptions): Promise<Asked>
}

interface AskOptions {
  body?: unknown
  headers?: Record<string, string>
}

export interface Asked {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it is what tests look at
  body: any
}

/** A runtime over the memory store on a clock of the test's, and its app. */
export async function open(options: AppOptions = {}, config: object = CONFIG): Promise<Fixture> {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const hf = await Holdfast.open({ config, clock, random: seededRandom(1), env: {}, watch: false })
  const app = createApp(hf, { clock, dashboard: false, ...options })
  onTestFinished(async () => {
    await app.close()
    await hf.close()
  })
  return { hf, app, clock, ask: asking(app) }
}

export const asking =
  (app: ClosableApp) =>
  async (method: string, path: string, { body, headers = {} }: AskOptions = {}): Promise<Asked> => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const type = text === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' }
    const answer = await app.request(`http://localhost${path}`, {
      method,
      headers: { ...type, ...headers },
      ...(text === undefined ? {} : { body: text }),
    })
    const said = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(said) : said }
  }

/** Makes a call fail for good. */
export async function failCall(hf: Holdfast, operation: string, options: object = {}): Promise<void> {
  await hf
    .run(
      operation,
      () => {
        throw Object.assign(new Error('the socket was reset'), { code: 'ECONNRESET' })
      },
      options,
    )
    .catch(() => undefined)
}
