import { createServer } from 'node:http'
import { succeeding } from '../measure/loops.mjs'
import { pairs } from '../measure/pairs.mjs'

/** Loaded by the process that measures, not by the one that lists. */
const http = () => import('holdfast/http')

const ANSWER = new Response(null)
const URL = 'http://127.0.0.1/'

/** A fetch that answers at once. */
const atOnce = async () => ANSWER

const retry = { maxAttempts: 3 }
const breaker = { failureThreshold: 5 }
const timeout = { attempt: 10_000, total: 30_000 }
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }

/** @type {import('../measure/batch.mjs').Batch} */
const bare = {
  calls: 1,
  async run(times) {
    for (let i = 0; i < times; i++) await atOnce()
  },
}

/**
 * What a request costs beside what the fetch under it costs.
 *
 * @param {import('holdfast/http').FetchOptions} options
 * @param {import('holdfast/http').FetchInit} [init]
 */
async function added(options, init) {
  const { createFetch } = await http()
  const resilient = createFetch({ ...options, fetch: atOnce })
  const { ratio, perCall } = await pairs(
    bare,
    succeeding(() => resilient(URL, init)),
  )
  return { samples: { added: perCall.map((ns, i) => ns - ns / (ratio[i] ?? 1)) } }
}

/** @type {import('./index.mjs').Case} */
const fetchCost = {
  name: 'fetch',
  title: 'createFetch over a fetch that answers at once',
  note: 'What a request costs more than with that fetch alone. Deadlines need an AbortSignal for each attempt, which is most of their cost.',
  metrics: [{ key: 'added', title: 'added per request', unit: 'nanoseconds', spread: true }],
  rounds: 3,
  subjects: [
    { label: 'GET, retry', bounds: { added: 3000 }, measure: () => added({ retry }) },
    {
      label: 'GET, retry and breaker',
      bounds: { added: 3000 },
      measure: () => added({ retry, breaker }),
    },
    {
      label: 'POST, retry and breaker',
      bounds: { added: 3000 },
      measure: () => added({ retry, breaker }, post),
    },
    {
      label: 'GET, retry, breaker and deadlines',
      measure: () => added({ retry, breaker, timeout }),
    },
  ],
}

const TOGETHER = 64

/** @typedef {(url: string) => Promise<Response>} Get */

/**
 * @param {Get} get
 * @param {string} url
 * @returns {import('../measure/batch.mjs').Batch} requests to a server, so many in flight
 */
function inFlight(get, url) {
  return {
    calls: TOGETHER,
    async run(times) {
      let left = times * TOGETHER
      const worker = async () => {
        while (left-- > 0) await (await get(url)).text()
      }
      await Promise.all(Array.from({ length: TOGETHER }, worker))
    },
  }
}

/** @param {(fetch: Get) => Promise<Get>} make makes the resilient one of the bare one */
async function throughput(make) {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}/`
  const plain = (/** @type {string} */ target) => fetch(target)
  const { ratio, perCall } = await pairs(inFlight(plain, url), inFlight(await make(plain), url))
  return { samples: { perCall, ratio } }
}

/** @type {import('./index.mjs').Case} */
const fetchThroughput = {
  name: 'fetch-throughput',
  title: 'createFetch over the platform’s fetch, on loopback',
  note: `${TOGETHER} requests in flight to a server in the same process, against the same fetch without it: 1.05 × the time is 95 % of the throughput.`,
  metrics: [
    { key: 'perCall', title: 'per request', unit: 'nanoseconds' },
    { key: 'ratio', title: '× bare fetch', unit: 'times', spread: true },
  ],
  rounds: 3,
  subjects: [
    {
      label: 'retry and breaker',
      bounds: { ratio: 1.05 },
      measure: () => throughput(async () => (await http()).createFetch({ retry, breaker })),
    },
    {
      label: 'retry, breaker and deadlines',
      bounds: { ratio: 1.05 },
      measure: () => throughput(async () => (await http()).createFetch({ retry, breaker, timeout })),
    },
  ],
}

export const fetching = [fetchCost, fetchThroughput]
