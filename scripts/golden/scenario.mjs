// The records of the golden fixtures: a fixed scenario at a fixed time. Runtimes are passed in, because the generator uses the built
// packages and the tests use the sources.
import { dirname } from 'node:path'

/** The time of the scenario. Fixtures are read at this time too, so that retention deletes nothing. */
const TIME = Date.parse('2026-01-15T12:00:00.000Z')

/** The environment of the config file. The key is public: it protects nothing but fixtures. */
export const ENVIRONMENT = { GOLDEN_KEY: Buffer.alloc(32, 7).toString('base64') }

/** @typedef {import('holdfast').Clock & { tick(ms: number): void }} FixedClock */

/** Creates a clock whose time changes only by `tick`. Timers are real, because stores flush with them. @returns {FixedClock} */
export function fixedClock() {
  let elapsed = 0
  return {
    now: () => 1_000_000 + elapsed,
    wall: () => TIME + elapsed,
    setTimer: (fn, ms) => (ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(fn, ms)),
    clearTimer: (handle) => clearTimeout(/** @type {NodeJS.Timeout} */ (handle)),
    tick(ms) {
      elapsed += ms
    },
  }
}

/** @param {string} message @param {object} fields */
const failure = (message, fields) =>
  Object.assign(new Error(message), { stack: `Error: ${message}\n    at save (orders.js:1:1)` }, fields)

/**
 * Makes calls and changes that write every kind of record.
 *
 * @param {any} hf
 * @param {FixedClock} clock
 * @param {{ createToken: Function }} server
 */
export async function writeRecords(hf, clock, { createToken }) {
  const reset = failure('socket hang up', { code: 'ECONNRESET' })
  const unavailable = failure('503 Service Unavailable', { status: 503 })

  let calls = 0
  await hf.run(
    'orders.save',
    async () => {
      calls += 1
      clock.tick(15)
      if (calls < 3) throw reset
      return 'saved'
    },
    { correlationId: 'request-1' },
  )

  clock.tick(1000)
  await hf
    .run(
      'orders.save',
      async () => {
        clock.tick(20)
        throw unavailable
      },
      {
        payload: { order: 7, items: ['a', 'b'] },
        itemId: 'order-7',
        correlationId: 'request-2',
        idempotencyKey: 'order-7',
      },
    )
    .catch(() => {})

  clock.tick(1000)
  await hf.deadLetters.enqueue({
    operation: 'mail.send',
    itemId: 'mail-1',
    payload: { to: 'ann@example.com' },
    error: reset,
  })
  const done = await hf.deadLetters.enqueue({
    operation: 'mail.send',
    itemId: 'mail-2',
    payload: 'text',
    error: unavailable,
  })
  clock.tick(1000)
  await hf.deadLetters.complete(done.dlqId, { by: 'ann', reason: 'sent by hand' })

  clock.tick(1000)
  await hf.breakers.trip('service:archive', { by: 'ann', reason: 'maintenance' })
  clock.tick(1000)
  await hf.policies.put({ id: 'quick', maxAttempts: 5 }, { by: 'ann', reason: 'more attempts' })
  clock.tick(1000)
  await hf.pools.addMember('proxies', { id: 'p3', url: 'http://user:secret@p3.example:8080' }, { by: 'bob' })
  clock.tick(1000)
  await createToken(hf, { name: 'ci', role: 'viewer', by: 'ann' })
}

/**
 * Reads every record through the public API, in wire format.
 *
 * @param {any} hf
 * @param {{ toWire: Function, listTokens: Function }} library
 */
export async function readRecords(hf, { toWire, listTokens }) {
  const all = async (/** @type {any} */ journal) => {
    const { items } = await journal.list({ limit: 1000, order: 'oldest' })
    return items.map((/** @type {any} */ item) => toWire(item))
  }
  const records = {
    sessions: await all(hf.sessions),
    events: await all(hf.events),
    errors: await all(hf.errors),
    audit: await all(hf.audit),
    breaker_events: await all(hf.store.breakerEvents),
    dead_letters: await all(hf.deadLetters),
    breakers: (await hf.breakers.list()).map((/** @type {any} */ one) => toWire(one)),
    policies: (await hf.policies.list()).map((/** @type {any} */ one) => toWire(one)),
    pools: (await hf.pools.list()).map((/** @type {any} */ pool) => ({
      id: pool.id,
      members: pool
        .members()
        .map((/** @type {any} */ { id, weight, region, cost, tags }) => ({ id, weight, region, cost, tags })),
    })),
    config_history: await hf.config.history(),
    tokens: await listTokens(hf),
    metrics: await hf.metrics.summary(),
  }
  return JSON.parse(JSON.stringify(records))
}

/** Requests whose responses are fixtures: lists, single resources and errors. */
const REST_PATHS = [
  '/health/live',
  '/health/ready',
  '/api/v1/sessions',
  '/api/v1/sessions?limit=1',
  '/api/v1/sessions/unknown',
  '/api/v1/sessions?limit=none',
  '/api/v1/errors',
  '/api/v1/dead-letters',
  '/api/v1/dead-letters/stats',
  '/api/v1/dead-letters/unknown',
  '/api/v1/circuit-breakers',
  '/api/v1/policies',
  '/api/v1/policies/patient',
  '/api/v1/pools',
  '/api/v1/pools/proxies/members',
  '/api/v1/config/history',
  '/api/v1/config/explain?operation=orders.save',
  '/api/v1/metrics/retries',
  '/api/v1/retry/policy',
  '/api/v1/nodes',
]

/**
 * Requests every path of {@link REST_PATHS}. Requests need a token, because the store contains one.
 *
 * @param {{ request(url: string, init: object): Promise<Response> | Response }} app
 * @param {string} token
 * @param {string} folder the folder of the config file, which is removed from paths
 */
export async function readResponses(app, token, folder) {
  const responses = []
  for (const path of REST_PATHS) {
    const response = await app.request(`http://localhost${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { status, headers } = response
    responses.push([path, { status, type: headers.get('content-type'), body: await response.json() }])
  }
  return JSON.parse(JSON.stringify(Object.fromEntries(responses)).replaceAll(`${folder}/`, ''))
}

/**
 * Resolves a config file: every policy with all its values, and the explanation of an operation.
 *
 * @param {{ open(options: object): Promise<any> }} Holdfast
 * @param {string} file
 * @param {Function} toWire
 */
export async function readConfig(Holdfast, file, toWire) {
  const hf = await Holdfast.open({ config: file, store: 'memory', env: ENVIRONMENT, watch: false })
  const policies = (await hf.policies.list()).map((/** @type {any} */ one) => toWire(one))
  const { policies: explained } = await hf.config.explain('orders.save')
  await hf.close()
  // Origins name the file by its path, which depends on the machine.
  return JSON.parse(JSON.stringify({ policies, explained }).replaceAll(`${dirname(file)}/`, ''))
}
