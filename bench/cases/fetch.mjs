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
  title: 'createFetch over a fetch that responds at once',
  note:
    'The cost of a request beyond that of the inner fetch, which does not read its signal: a signal is created ' +
    'when it is read.',
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
      bounds: { added: 3000 },
      measure: () => added({ retry, breaker, timeout }),
    },
  ],
}

/** @type {import('../measure/fetch.mjs').Get} */
const bareFetch = (url) => fetch(url)

/** What a caller who wants a deadline does by hand. @type {import('../measure/fetch.mjs').Get} */
const withDeadline = (url) => fetch(url, { signal: AbortSignal.timeout(timeout.attempt) })

/**
 * @param {import('../measure/fetch.mjs').Get} bareGet
 * @param {import('holdfast/http').FetchOptions} options
 */
async function onLoopback(bareGet, options) {
  const { createFetch } = await http()
  const { throughput } = await import('../measure/fetch.mjs')
  return { samples: await throughput(bareGet, createFetch(options)) }
}

/** @type {import('./index.mjs').Case} */
const fetchThroughput = {
  name: 'fetch-throughput',
  title: 'createFetch over the platform’s fetch, on loopback',
  note:
    '64 requests in flight to a server in another process, alternating with the same fetch alone: 1.05 × the ' +
    'time is 95 % of the throughput. A deadline needs an AbortSignal for each attempt, so requests with ' +
    'deadlines are compared with a fetch that has one too.',
  metrics: [
    { key: 'perCall', title: 'per request', unit: 'nanoseconds' },
    { key: 'ratio', title: '× bare fetch', unit: 'times', spread: true },
    { key: 'cpu', title: 'processor × bare fetch', unit: 'times', spread: true },
  ],
  rounds: 3,
  subjects: [
    {
      label: 'retry and breaker',
      bounds: { ratio: 1.05 },
      measure: () => onLoopback(bareFetch, { retry, breaker }),
    },
    {
      label: 'retry, breaker and deadlines, × fetch with AbortSignal.timeout',
      bounds: { ratio: 1.05 },
      measure: () => onLoopback(withDeadline, { retry, breaker, timeout }),
    },
    {
      label: 'retry, breaker and deadlines, × fetch without any',
      measure: () => onLoopback(bareFetch, { retry, breaker, timeout }),
    },
  ],
}

export const fetching = [fetchCost, fetchThroughput]
