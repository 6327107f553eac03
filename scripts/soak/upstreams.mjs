// The services that the soak test calls, and the upstream proxies of the forward proxy. They fail as a seed decides.
import { appendFile } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { serveControl } from './control.mjs'
import { FailingService } from './failures.mjs'

/** @typedef {import('node:http').IncomingMessage} Request @typedef {import('node:http').ServerResponse} Response */

const { SOAK_SEED = '1', SOAK_LEDGER = '', SOAK_SERVICE_PORTS = '', SOAK_PROXY_PORTS = '' } = process.env
const startedAt = performance.now()
const SLOW_MS = 3000
const FLUSH_MS = 1000

/** @type {Record<string, number>} */
const counts = { requests: 0, forwarded: 0, tunnels: 0 }
/** @type {FailingService[]} */
const failing = []

/** Keys of delivered orders, written once per second. @type {string[]} */
let delivered = []
setInterval(() => {
  if (delivered.length === 0) return
  appendFile(SOAK_LEDGER, delivered.map((key) => `delivered ${key}\n`).join(''), () => {})
  delivered = []
}, FLUSH_MS)

const STATUS = { error: 500, unavailable: 503, limited: 429 }

/** Answers a request as the service decides; `succeed` answers one that does not fail. @param {FailingService} service @param {Request} request @param {Response} response @param {() => unknown} succeed */
function respond(service, request, response, succeed) {
  const outcome = service.next(performance.now() - startedAt)
  if (outcome === 'reset') request.socket.destroy()
  else if (outcome === 'ok') setTimeout(succeed, service.latencyMs())
  else if (outcome === 'slow') setTimeout(succeed, SLOW_MS)
  else {
    response.statusCode = STATUS[outcome]
    if (outcome === 'limited') response.setHeader('retry-after', '0')
    request.resume()
    response.end(outcome)
  }
}

SOAK_SERVICE_PORTS.split(',').forEach((port, index) => {
  const service = new FailingService(Number(SOAK_SEED) * 100 + index)
  failing.push(service)
  createServer((request, response) => {
    counts['requests'] = (counts['requests'] ?? 0) + 1
    respond(service, request, response, async () => {
      const body = await text(request).catch(() => undefined)
      if (body === undefined || response.destroyed) return
      const key = request.headers['idempotency-key']
      if (key !== undefined) delivered.push(String(key))
      response.end(JSON.stringify({ received: body.length, text: 'x'.repeat(200) }))
    })
  }).listen(Number(port), '127.0.0.1')
})

/** Forwards a request in absolute form. @param {Request} request @param {Response} response */
function forward(request, response) {
  const target = sendRequest(
    String(request.url),
    { method: request.method, headers: { ...request.headers, connection: 'close' }, agent: false },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    },
  )
  target.on('error', () => response.destroy())
  response.on('close', () => target.destroy())
  request.pipe(target)
}

SOAK_PROXY_PORTS.split(',').forEach((port, index) => {
  const service = new FailingService(Number(SOAK_SEED) * 100 + 50 + index)
  failing.push(service)
  const server = createServer((request, response) => {
    counts['forwarded'] = (counts['forwarded'] ?? 0) + 1
    respond(service, request, response, () => forward(request, response))
  })
  server.on('connect', (request, client, head) => {
    const outcome = service.next(performance.now() - startedAt)
    client.on('error', () => {})
    if (outcome === 'reset') return client.destroy()
    if (outcome !== 'ok') return client.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n')
    counts['tunnels'] = (counts['tunnels'] ?? 0) + 1
    const { hostname, port: targetPort } = new URL(`http://${request.url}`)
    const target = connect(Number(targetPort), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.write(head)
      client.pipe(target).pipe(client)
    })
    target.on('error', () => client.destroy())
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
    return undefined
  })
  server.listen(Number(port), '127.0.0.1')
})

serveControl({
  '/healthy': () => {
    for (const service of failing) service.isHealthy = true
  },
  '/counts': () => counts,
})
