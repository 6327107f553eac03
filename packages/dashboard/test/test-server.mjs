// A real runtime and a real server with records for every page of the dashboard, and calls that fail.
import { fileURLToPath } from 'node:url'
import { Holdfast } from '@holdfast/runtime'
import { createToken, serve } from '@holdfast/server'
import { systemClock } from 'holdfast/internal'
import { seededRandom } from 'holdfast/testing'

export const built = fileURLToPath(new URL('../../server/dist/dashboard', import.meta.url))

const quick = { backoffType: 'immediate' }

const CONFIG = {
  version: '1.1.0',
  policies: {
    fetch: {
      name: 'Fetch pages',
      maxAttempts: 4,
      baseDelay: 200,
      maxDelay: 5000,
      jitterType: 'full',
      jitterAmount: 0.5,
      totalTimeout: 60_000,
    },
    gmail_fetch: { name: 'Read mail', maxAttempts: 5, ...quick },
    notion_write: { name: 'Write to Notion', maxAttempts: 3, ...quick },
    gemini: { name: 'Ask the model', maxAttempts: 2, ...quick, circuitBreaker: 'gemini' },
    scrape: { name: 'Scrape through proxies', maxAttempts: 3, ...quick },
    browse: { name: 'Open pages', maxAttempts: 3, ...quick },
    patient: { name: 'Wait for a slow thing', maxAttempts: 5, baseDelay: 60_000, maxDelay: 120_000 },
  },
  // Breakers stay open for longer than a test takes on a busy machine.
  circuitBreakers: {
    notion: { failureThreshold: 5, timeoutDuration: 3_600_000, successThreshold: 2 },
    gemini: { failureThreshold: 4, timeoutDuration: 1_800_000, windowType: 'consecutive' },
    postgres: { failureThreshold: 3, timeoutDuration: 600_000 },
  },
  subsystemMappings: { browser: { navigation: { timeout: 'gmail_fetch', default: 'browse' } } },
  pools: {
    proxies: {
      strategy: 'score',
      policy: 'scrape',
      circuitBreaker: { failureThreshold: 3, windowDuration: 60_000, timeoutDuration: 2_700_000 },
      members: ['ams', 'fra', 'lhr', 'iad', 'sfo', 'nrt', 'gru', 'syd'].map((place, index) => ({
        id: `${place}-${index + 1}`,
        url: `http://user:secret@127.0.0.1:${9001 + index}`,
        region: index < 3 ? 'eu' : index < 5 ? 'us' : 'far',
        weight: 1 + (index % 3),
      })),
    },
  },
}

const FAULTS = [
  () => Object.assign(new Error('the socket was reset'), { code: 'ECONNRESET' }),
  () => Object.assign(new Error('the server answered 503'), { status: 503 }),
  () => Object.assign(new Error('no answer in time'), { name: 'TimeoutError' }),
  () => Object.assign(new Error('too many requests'), { status: 429 }),
]

const HOUR = 3_600_000

/**
 * @param {{ past?: boolean, breakers?: number, tokens?: boolean, port?: number, store?: string, quiet?: boolean, shared?: string }} [options]
 *   `past` fills the last 24 hours; `breakers` adds so many members to a second pool; `tokens` makes one of each role;
 *   `quiet` makes no calls at all; `shared` is the Redis of its fleet
 */
export async function openTestServer(options = {}) {
  const chance = seededRandom(7)
  let offset = options.past === true ? -24 * HOUR : 0
  const clock = {
    now: () => systemClock.now() + offset + 24 * HOUR,
    wall: () => systemClock.wall() + offset,
    setTimer: (/** @type {() => void} */ fn, /** @type {number} */ ms) => systemClock.setTimer(fn, ms),
    clearTimer: (/** @type {unknown} */ handle) => systemClock.clearTimer(handle),
  }
  const many = Array.from({ length: options.breakers ?? 0 }, (_, index) => ({
    id: `m${String(index).padStart(5, '0')}`,
    url: `http://10.0.${index >> 8}.${index & 255}:8080`,
  }))
  const pools = { ...CONFIG.pools, ...(many.length > 0 && { crowd: { members: many } }) }
  const hf = await Holdfast.open({
    config: { ...CONFIG, pools, ...(options.shared === undefined ? {} : { shared: options.shared }) },
    clock,
    random: chance,
    env: {},
    watch: false,
    ...(options.store === undefined ? {} : { store: options.store }),
  })
  hf.deadLetters.handle('notion_write', async (payload) => {
    if (/** @type {{ bad?: boolean }} */ (payload).bad === true) throw new Error('the page is archived')
  })

  /** One call that fails `failures` times. @param {string} operation @param {number} failures @param {object} [more] */
  const call = async (operation, failures, more = {}) => {
    const fault = FAULTS[Math.floor(chance() * FAULTS.length)] ?? FAULTS[0]
    try {
      await hf.run(
        operation,
        async ({ number }) => {
          if (number <= failures) throw /** @type {() => Error} */ (fault)()
        },
        more,
      )
    } catch {
      // What ends in failure is what there is to see.
    }
  }

  /** Some calls of every kind. @param {number} size */
  const burst = async (size) => {
    for (let n = 0; n < size; n++) {
      const luck = chance()
      await call('gmail_fetch', luck < 0.7 ? 0 : luck < 0.9 ? 1 : luck < 0.97 ? 3 : 9)
      await call('browser.navigation', luck < 0.8 ? 0 : 2)
      if (n % 4 === 0) await call('scrape', luck < 0.6 ? 0 : 1, { pool: 'proxies' })
      if (n % 6 === 0) await call('notion_write', luck < 0.7 ? 0 : 1, { service: 'notion' })
    }
  }

  for (; offset < 0; offset += HOUR) await burst(4 + Math.round(chance() * 12))
  if (options.quiet !== true) {
    await burst(20)
    for (let n = 0; n < 6; n++)
      await call('notion_write', 9, {
        itemId: `page-${n}`,
        payload: { page: `page-${n}`, title: `Minutes of meeting ${n}`, ...(n === 4 && { bad: true }) },
      })
    await call('gmail_fetch', 9, { itemId: 'mail-1', payload: { mail: 'mail-1' } })
    for (let n = 0; n < 3; n++) await call('gemini', 9)
    await hf.breakers.trip('pool:proxies:syd-8', { by: 'ops', reason: 'the provider asked for it' })
  }
  /** A call that waits for its next attempt until the server is closed. */
  const waiting = options.quiet === true ? undefined : call('patient', 9)

  const tokens = { viewer: '', operator: '', admin: '' }
  if (options.tokens === true)
    for (const role of /** @type {const} */ (['viewer', 'operator', 'admin']))
      tokens[role] = (await createToken(hf, { name: `the-${role}`, role })).token
  const serveAt = (/** @type {number} */ port) => serve(hf, { port, dashboard: built, clock })
  let server = await serveAt(options.port ?? 0)
  return {
    hf,
    call,
    burst,
    tokens,
    url: server.url,
    /** Stops the server, as a deployment does. */
    stop: () => server.close(),
    /** Starts it again at the same address. */
    async restart() {
      server = await serveAt(server.port)
    },
    async close() {
      await server.close()
      for (const { sessionId } of (await hf.sessions.list({ active: true })).items)
        await hf.sessions.cancel(sessionId, { by: 'fixture' })
      await waiting
      await hf.close()
    },
  }
}
