// The clients of the server and of the forward proxy: requests in absolute form, tunnels, REST calls, readers of the event
// stream that connect and leave, and the dashboard. It counts what it sees.
import { appendFile } from 'node:fs'
import { Agent, request as sendRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../packages/runtime/test/crash/random.mjs'
import { serveControl } from './control.mjs'
import { ProblemCounter } from './problems.mjs'
import { startAtRate } from './rate.mjs'

const env = process.env
const serverUrl = String(env['SOAK_SERVER_URL'])
const proxyPort = Number(env['SOAK_PROXY_PORT'])
const targets = String(env['SOAK_SERVICE_PORTS']).split(',')
const ledger = String(env['SOAK_LEDGER'])
const random = seeded(Number(env['SOAK_SEED']))
const rate = Number(env['SOAK_RATE'])

const READERS = 8
const MAX_RUNNING = 500
const RESPONSE_TIMEOUT_MS = 30_000
/**
 * A client must not send a request on a connection that the server is just closing, because it was idle for too long. With a
 * timeout, an agent also honours the header `Keep-Alive` of the server.
 */
const IDLE_TIMEOUT_MS = 30_000

/** Relative frequency of the kinds of requests. */
const SHARES = { absolute: 0.45, tunnel: 0.15, request: 0.25, rest: 0.15 }

const counts = {
  proxyRequests: 0,
  proxyResponses: 0,
  proxyErrors: 0,
  tunnels: 0,
  tunnelsRefused: 0,
  tunnelErrors: 0,
  tunnelsLeft: 0,
  requests: 0,
  requestResponses: 0,
  requestErrors: 0,
  rest: 0,
  restErrors: 0,
  serverErrors: 0,
  readers: 0,
  events: 0,
  readerErrors: 0,
  replays: 0,
  pages: 0,
  skipped: 0,
}
/** Unexpected errors and responses. */
const problems = new ProblemCounter()

const proxyAgent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_TIMEOUT_MS })
const serverAgent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_TIMEOUT_MS })
let running = 0
let isPaused = false

/** @param {string} path @param {{ method?: string, body?: unknown, headers?: Record<string, string> }} [options] */
function callServer(path, { method = 'GET', body, headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const request = sendRequest(
      `${serverUrl}${path}`,
      {
        method,
        agent: serverAgent,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      },
      (response) => {
        text(response).then((content) => {
          const status = response.statusCode ?? 0
          if (status >= 500 && status !== 502 && status !== 503 && status !== 504) {
            counts.serverErrors++
            problems.add(`${method} ${path}: ${status} ${content.slice(0, 300)}`)
          }
          resolve({ status, content })
        }, reject)
      },
    )
    request.setTimeout(RESPONSE_TIMEOUT_MS, () => request.destroy(new Error(`${path}: no response in time`)))
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const target = () => /** @type {string} */ (targets[Math.floor(random() * targets.length)])

/** A request in absolute form. */
function sendAbsolute() {
  counts.proxyRequests++
  const isPost = random() < 0.2
  return new Promise((resolve) => {
    const request = sendRequest(
      {
        host: '127.0.0.1',
        port: proxyPort,
        path: `http://127.0.0.1:${target()}/page`,
        method: isPost ? 'POST' : 'GET',
        agent: proxyAgent,
        headers: { host: '127.0.0.1' },
      },
      (response) => {
        counts.proxyResponses++
        text(response).then(resolve, resolve)
      },
    )
    request.setTimeout(RESPONSE_TIMEOUT_MS, () => request.destroy(new Error('no response in time')))
    request.on('error', (error) => {
      counts.proxyErrors++
      problems.add(`request through the proxy: ${error.message}`)
      resolve(undefined)
    })
    request.end(isPost ? 'x'.repeat(500) : undefined)
  })
}

/** A tunnel with one request in it. Every tenth client leaves without a request. */
function openTunnel() {
  const leavesEarly = random() < 0.1
  return new Promise((resolve) => {
    const request = sendRequest({
      host: '127.0.0.1',
      port: proxyPort,
      method: 'CONNECT',
      path: `127.0.0.1:${target()}`,
      agent: false,
    })
    request.setTimeout(RESPONSE_TIMEOUT_MS, () => request.destroy(new Error('no response in time')))
    request.on('connect', (response, socket) => {
      if (response.statusCode !== 200) {
        counts.tunnelsRefused++
        socket.destroy()
        resolve(undefined)
        return
      }
      counts.tunnels++
      socket.setTimeout(RESPONSE_TIMEOUT_MS, () => socket.destroy())
      socket.on('error', () => {})
      socket.once('close', resolve)
      socket.resume()
      if (leavesEarly) {
        counts.tunnelsLeft++
        socket.destroy()
      } else socket.write('GET /page HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')
    })
    request.on('error', (error) => {
      counts.tunnelErrors++
      problems.add(`tunnel: ${error.message}`)
      resolve(undefined)
    })
    request.end()
  })
}

/** A request that the server sends through its pool. */
async function sendThroughServer() {
  counts.requests++
  const body = { url: `http://127.0.0.1:${target()}/page`, pool: 'proxies' }
  await callServer('/api/v1/request', { method: 'POST', body })
  counts.requestResponses++
}

const READS = [
  '/api/v1/policies',
  '/api/v1/circuit-breakers',
  '/api/v1/metrics/retries',
  '/api/v1/metrics/operations',
  '/api/v1/sessions?limit=50',
  '/api/v1/errors/groups',
  '/api/v1/dead-letters?limit=50',
  '/api/v1/dead-letters/stats',
  '/api/v1/pools',
  '/api/v1/audit?limit=50',
  '/api/v1/config/history',
  '/health',
  '/metrics',
]

async function readServer() {
  counts.rest++
  await callServer(/** @type {string} */ (READS[Math.floor(random() * READS.length)]))
}

const KINDS = /** @type {const} */ ([
  [SHARES.absolute, sendAbsolute, 'proxyErrors'],
  [SHARES.absolute + SHARES.tunnel, openTunnel, 'tunnelErrors'],
  [SHARES.absolute + SHARES.tunnel + SHARES.request, sendThroughServer, 'requestErrors'],
  [1, readServer, 'restErrors'],
])

async function makeRequest() {
  const choice = random()
  const [, send, errors] = /** @type {(typeof KINDS)[number]} */ (
    KINDS.find(([share]) => choice < share) ?? KINDS[3]
  )
  running++
  try {
    await send()
  } catch (error) {
    counts[errors]++
    problems.add(`${send.name}: ${/** @type {Error} */ (error).message}`)
  } finally {
    running--
  }
}

/** Reads the event stream for some seconds and leaves, sometimes in the middle of an event. */
async function readEvents() {
  for (;;) {
    if (isPaused) {
      await sleep(200)
      continue
    }
    counts.readers++
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), 3000 + random() * 25_000)
    try {
      const response = await fetch(`${serverUrl}/api/v1/events`, { signal: abort.signal })
      // One of eight readers does not read.
      if (random() < 0.125) await sleep(10_000)
      for await (const _chunk of /** @type {AsyncIterable<Uint8Array>} */ (response.body)) counts.events++
    } catch (error) {
      if (!abort.signal.aborted) {
        counts.readerErrors++
        problems.add(`event stream: ${/** @type {Error} */ (error).message}`)
      }
    }
    clearTimeout(timer)
    await sleep(random() * 1000)
  }
}
for (let reader = 0; reader < READERS; reader++) void readEvents()

/** Records the completions that the server reports. This reader never leaves. */
async function recordCompletions() {
  let lastId = ''
  for (;;) {
    try {
      const response = await fetch(`${serverUrl}/api/v1/events?type=dead_letter_replayed`, {
        headers: lastId === '' ? {} : { 'last-event-id': lastId },
      })
      let rest = ''
      for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (response.body)) {
        const blocks = (rest + Buffer.from(chunk).toString()).split('\n\n')
        rest = blocks.pop() ?? ''
        for (const block of blocks) {
          const id = /^id: ?(.*)$/m.exec(block)?.[1]
          const data = /^data: ?(.*)$/m.exec(block)?.[1]
          if (id === undefined || data === undefined || id === lastId) continue
          lastId = id
          const { context } = JSON.parse(data)
          counts.replays++
          appendFile(ledger, `completed ${context.item_id} ${context.dlq_id}\n`, () => {})
        }
      }
    } catch (error) {
      problems.add(`completions: ${/** @type {Error} */ (error).message}`)
    }
    await sleep(500)
  }
}
void recordCompletions()

startAtRate(
  rate,
  () => {
    if (running < MAX_RUNNING) void makeRequest()
    else counts.skipped++
  },
  () => isPaused,
)

/** Repeats an action of an operator. @param {number} ms @param {() => Promise<unknown>} action */
const repeat = (ms, action) =>
  setInterval(() => {
    if (isPaused) return
    action().catch((error) => {
      counts.restErrors++
      problems.add(`operator: ${error.message}`)
    })
  }, ms)
let changes = 0
repeat(20_000, () =>
  callServer('/api/v1/policies/rotate', { method: 'PUT', body: { max_attempts: 4 + (++changes % 2) } }),
)
repeat(30_000, () => callServer('/api/v1/config/reload', { method: 'POST', body: {} }))
repeat(40_000, async () => {
  const id = encodeURIComponent('pool:proxies:' + encodeURIComponent(String(env['SOAK_MEMBER'])))
  await callServer(`/api/v1/circuit-breakers/${id}/trip`, { method: 'POST', body: { reason: 'soak' } })
  await callServer(`/api/v1/circuit-breakers/${id}/reset`, { method: 'POST', body: { reason: 'soak' } })
})
repeat(15_000, () =>
  callServer('/api/v1/dead-letters/replay', { method: 'POST', body: { retry_failed: true, limit: 100 } }),
)
repeat(10_000, async () => {
  const { content } = await callServer('/')
  for (const [, path] of content.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)) {
    counts.pages++
    await callServer(path)
  }
})

serveControl({
  '/pause': async () => {
    isPaused = true
    while (running > 0) await sleep(50)
  },
  '/counts': () => ({ counts, problems: problems.list() }),
})
