import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Clock, Random } from 'holdfast'

/** A demo server on the loopback interface. */
export interface LocalService {
  readonly port: number
  readonly url: string
  close(): Promise<void>
}

type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void

/** Starts a server on a free port. */
async function listen(answer: RequestHandler, prepare?: (server: Server) => void): Promise<LocalService> {
  const server = createServer(answer)
  prepare?.(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A port without a listener: it was free a moment ago. */
export async function deadPort(): Promise<number> {
  const { port, close } = await listen((_, res) => res.end())
  await close()
  return port
}

export interface DemoParts {
  readonly clock: Clock
  readonly random: Random
}

const sendJson = (
  res: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}

/** An API that works for 20 seconds, fails for 10, and so on. */
export const weather = ({ clock, random }: DemoParts): Promise<LocalService> =>
  listen((_, res) => {
    const isFailing = Math.floor(clock.now() / 10_000) % 3 === 2
    const shouldFail = random() < (isFailing ? 0.9 : 0.08)
    clock.setTimer(
      () => (shouldFail ? sendJson(res, 503, { error: 'overloaded' }) : sendJson(res, 200, { degrees: 12 })),
      10 + random() * 60,
    )
  })

/** An API with a limit of 5 requests per second that sends Retry-After. */
export function search({ clock }: DemoParts): Promise<LocalService> {
  let second = 0
  let count = 0
  return listen((_, res) => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) [second, count] = [now, 0]
    count++
    if (count > 5) sendJson(res, 429, { error: 'too many requests' }, { 'retry-after': '1' })
    else sendJson(res, 200, { hits: count })
  })
}

/** An API that never responds. */
export const silent = (): Promise<LocalService> => listen(() => {})

/** The target of requests through the proxies. */
export const catalog = (): Promise<LocalService> =>
  listen((req, res) => sendJson(res, 200, { item: req.url, seen: true }))

/** The faults of a demo proxy. */
export interface ProxyQuality {
  /** The fraction of requests whose connection is closed. */
  readonly drops: number
  /** The added latency in milliseconds. */
  readonly delay: number
  /** The status that it sends instead of the response of the target. */
  readonly refuses?: number
  /** Whether it is down for 6 of every 20 seconds, for the first time soon after its start. */
  readonly restarts?: boolean
}

/** A forward proxy for plain HTTP with the given faults. */
export function badProxy({ clock, random }: DemoParts, quality: ProxyQuality): Promise<LocalService> {
  const { drops, delay, refuses, restarts = false } = quality
  const startedAt = clock.now()
  const isDown = (): boolean => restarts && (clock.now() - startedAt + 16_000) % 20_000 < 6000
  return listen((req, res) => {
    if (isDown() || random() < drops) return void req.socket.destroy()
    if (refuses !== undefined) return sendJson(res, refuses, { error: 'this proxy is blocked' })
    clock.setTimer(() => forward(req, res), delay * (0.5 + random()))
  })
}

/** Forwards a request to its target over a new connection, which is enough for a demo. */
function forward(req: IncomingMessage, res: ServerResponse): void {
  const target = new URL(req.url ?? '/', 'http://127.0.0.1')
  const socket = connect(Number(target.port), target.hostname)
  const fail = (): void => {
    if (res.headersSent) res.destroy()
    else sendJson(res, 502, { error: 'the target does not respond' })
  }
  socket.on('error', fail)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('end', () => {
    const [head = '', ...body] = text.split('\r\n\r\n')
    const status = Number(head.split(' ')[1])
    if (!Number.isInteger(status)) return fail()
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(Buffer.from(body.join('\r\n\r\n'), 'latin1'))
  })
  socket.write(
    `${req.method} ${target.pathname} HTTP/1.0\r\nhost: ${target.host}\r\nconnection: close\r\n\r\n`,
  )
}
