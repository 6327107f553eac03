// A process with a runtime that makes calls at a fixed rate: a node of the fleet, or the worker beside the server. It keeps
// counters only; what it must remember about dead letters goes to a file, so that its memory is that of the runtime.
import { appendFile, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Holdfast } from '@holdfast/runtime'
import { Retry } from 'holdfast/decorators'
import { seeded } from '../../packages/runtime/test/crash/random.mjs'
import { nodeConfig } from './configs.mjs'
import { serveControl } from './control.mjs'
import { saveOrder } from './orders.mjs'
import { ProblemCounter } from './problems.mjs'
import { startAtRate } from './rate.mjs'

const env = process.env
const name = String(env['SOAK_NAME'])
const rate = Number(env['SOAK_RATE'])
const ledger = String(env['SOAK_LEDGER'])
const folder = String(env['SOAK_FOLDER'])
const random = seeded(Number(env['SOAK_SEED']))
const settings = JSON.parse(String(env['SOAK_NODE']))
/** @type {number[]} */
const ports = settings.servicePorts
const urls = ports.map((port) => `http://127.0.0.1:${port}`)

const FLUSH_MS = 1000
const RELOAD_MS = 45_000
const REPLAY_MS = 20_000
const PURGE_MS = 60_000
/** How long completed dead letters are kept. */
const KEPT_MS = 120_000
const MAX_RUNNING = 500

const file = join(folder, 'holdfast.yaml')
writeFileSync(file, nodeConfig(settings))
const hf = await Holdfast.open(file)
const stop = new AbortController()

/** The calls of the operations of the runtime. @type {Record<string, { succeeded: number, failed: number, rejected: number }>} */
const calls = {}
/** Decorated methods are guards of their own, which no runtime counts. */
const DECORATED = 'Prices.read'
const decorated = { succeeded: 0, failed: 0, rejected: 0 }
/** The codes of calls that had no attempt. */
const REJECTIONS = ['CIRCUIT_OPEN', 'BULKHEAD_FULL', 'POOL_UNAVAILABLE', 'NETWORK_DOWN']
const counts = { enqueued: 0, notStored: 0, handled: 0, replayed: 0, replayFailed: 0, reloads: 0, skipped: 0 }
/** Errors of actions that are repeated. They show why a counter differs. */
const problems = new ProblemCounter()
let running = 0
let isPaused = false

/** @type {string[]} */
let lines = []
const flush = () =>
  new Promise((resolve) => {
    const text = lines.map((line) => `${line}\n`).join('')
    lines = []
    if (text === '') resolve(undefined)
    else appendFile(ledger, text, () => resolve(undefined))
  })
setInterval(() => void flush(), FLUSH_MS)

hf.events.on('dead_letter_enqueued', ({ context }) => {
  counts.enqueued++
  lines.push(`added ${context?.['item_id']}`)
})
hf.events.on('dead_letter_replayed', ({ context }) => {
  counts.replayed++
  lines.push(`completed ${context?.['item_id']} ${context?.['dlq_id']}`)
})
hf.events.on('dead_letter_failed', ({ context }) => {
  if (context?.['code'] === undefined) counts.replayFailed++
  else counts.notStored++
})

class Prices {
  /** @param {string} url */
  async read(url) {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) })
    await response.arrayBuffer()
    if (!response.ok) throw Object.assign(new Error('no price'), { status: response.status })
  }
}
const method = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Prices.prototype, 'read'))
const annotated = Retry({ maxRetries: 2, delay: 5, jitter: 5 })(Prices.prototype, 'read', method)
Object.defineProperty(Prices.prototype, 'read', annotated ?? method)
const prices = new Prices()

const readShop = hf.createFetch('shop.read')
hf.deadLetters.handle('shop.orders', async (order, _entry, { signal }) => {
  await saveOrder(/** @type {Parameters<typeof saveOrder>[0]} */ (order), signal)
  counts.handled++
})
const work = hf.deadLetters.work({ concurrency: 4, signal: stop.signal })

let orders = 0
/** Calls by operation, with the share of calls up to which it is chosen. @type {readonly (readonly [string, number, () => Promise<unknown>])[]} */
const kinds = [
  [
    'shop.orders',
    0.25,
    () => {
      const key = `${name}-${++orders}`
      const order = { url: /** @type {string} */ (urls[0]), key, text: 'x'.repeat(300) }
      const options = { itemId: key, idempotencyKey: key, payload: order, context: { customer: orders % 50 } }
      return hf.run('shop.orders', ({ signal }) => saveOrder(order, signal), options)
    },
  ],
  [
    'shop.read',
    0.5,
    async () => {
      const response = await readShop(`${urls[1]}/items/${orders % 100}`)
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`status ${response.status}`)
    },
  ],
  [
    'mail.send',
    0.75,
    () =>
      hf.run(
        'mail.send',
        async ({ member, signal }) => {
          const url = String(/** @type {{ value: unknown }} */ (member).value)
          const response = await fetch(url, { signal })
          await response.arrayBuffer()
          if (!response.ok) throw Object.assign(new Error('not sent'), { status: response.status })
        },
        { pool: 'services' },
      ),
  ],
  [DECORATED, 0.85, () => prices.read(`${urls[2]}/price`)],
  [
    'local.compute',
    1,
    () =>
      hf.run('local.compute', () => {
        if (random() < 0.02) throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
        return 1
      }),
  ],
]

async function makeCall() {
  const choice = random()
  const [operation, , call] = /** @type {(typeof kinds)[number]} */ (
    kinds.find(([, share]) => choice < share)
  )
  const count =
    operation === DECORATED ? decorated : (calls[operation] ??= { succeeded: 0, failed: 0, rejected: 0 })
  running++
  try {
    await call()
    count.succeeded++
  } catch (error) {
    count.failed++
    if (REJECTIONS.includes(String(/** @type {{ code?: unknown }} */ (error).code))) count.rejected++
  } finally {
    running--
  }
}

startAtRate(
  rate,
  () => {
    if (running < MAX_RUNNING) void makeCall()
    else counts.skipped++
  },
  () => isPaused,
)

/** Repeats work while calls are made. @param {number} ms @param {() => Promise<unknown>} action */
const repeat = (ms, action) =>
  setInterval(() => !isPaused && void action().catch((error) => problems.add(String(error))), ms)
repeat(RELOAD_MS, async () => {
  counts.reloads++
  writeFileSync(file, nodeConfig({ ...settings, maxDelay: counts.reloads % 2 === 0 ? '0.2' : '0.15' }))
})
repeat(REPLAY_MS, () =>
  hf.deadLetters.replayBatch({ operation: 'shop.orders', retryFailed: true, limit: 200 }, { by: name }),
)
repeat(PURGE_MS, () => hf.deadLetters.purge({ status: 'completed', to: new Date(Date.now() - KEPT_MS) }))

/** All dead letters that are stored. */
async function listDeadLetters() {
  const entries = []
  let cursor
  do {
    const page = await hf.deadLetters.list({ limit: 1000, ...(cursor !== undefined && { cursor }) })
    for (const { dlqId, itemId, status } of page.items) entries.push({ dlqId, itemId, status })
    cursor = page.cursor
  } while (cursor !== undefined)
  return entries
}

serveControl({
  '/pause': async () => {
    isPaused = true
    while (running > 0) await sleep(50)
  },
  '/replay': async () => {
    await hf.deadLetters.replayBatch({ operation: 'shop.orders', retryFailed: true }, { by: name })
    return hf.deadLetters.stats()
  },
  '/stats': () => hf.deadLetters.stats(),
  '/entries': listDeadLetters,
  '/counts': async () => {
    await flush()
    const counters = Object.fromEntries(
      [...hf.metrics.counters().operations].map(
        ([operation, { succeeded, recovered, failed, exhausted, retries, rejections }]) => [
          operation,
          { succeeded, recovered, failed, exhausted, retries, rejections: Object.fromEntries(rejections) },
        ],
      ),
    )
    const breakers = Object.fromEntries(hf.metrics.counters().breakers)
    return {
      calls,
      decorated,
      counts,
      counters,
      breakers,
      problems: problems.list(),
      fleet: hf.fleet?.status(),
    }
  },
  '/close': async () => {
    stop.abort()
    await work
    await hf.close()
    await flush()
  },
})
process.title = `soak ${name} ${dirname(file)}`
