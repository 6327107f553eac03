import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Clock, Random } from 'holdfast'

/** A server on this machine that is reached by nobody else. */
export interface LocalService {
  readonly port: number
  readonly url: string
  close(): Promise<void>
}

type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void

/** Starts a server on any free port. */
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

/** A port where nobody listens: it was free a moment ago. */
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

/** Good for twenty seconds, bad for ten, and so on: an API that recovers. */
export const weather = ({ clock, random }: DemoParts): Promise<LocalService> =>
  listen((_, res) => {
    const bad = Math.floor(clock.now() / 10_000) % 3 === 2
    const fails = random() < (bad ? 0.9 : 0.08)
    clock.setTimer(
      () => (fails ? sendJson(res, 503, { error: 'overloaded' }) : sendJson(res, 200, { degrees: 12 })),
      10 + random() * 60,
    )
  })

/** Takes five requests a second, and says when to come back. */
export function search({ clock }: DemoParts): Promise<LocalService> {
  let second = 0
  let taken = 0
  return listen((_, res) => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) [second, taken] = [now, 0]
    taken++
    if (taken > 5) sendJson(res, 429, { error: 'too many requests' }, { 'retry-after': '1' })
    else sendJson(res, 200, { hits: taken })
  })
}

/** Takes every request, and answers none. */
export const silent = (): Promise<LocalService> => listen(() => {})

/** Where proxies lead to. */
export const catalog = (): Promise<LocalService> =>
  listen((req, res) => sendJson(res, 200, { item: req.url, seen: true }))

/** How good a proxy is. */
export interface ProxyQuality {
  /** The share of requests that it drops. */
  readonly drops: number
  /** Milliseconds that it adds. */
  readonly delay: number
  /** The status it answers with in place of the target. */
  readonly refuses?: number
  /** Whether it is away for six seconds of every twenty, the first time soon after its start. */
  readonly restarts?: boolean
}

/** A forward proxy of the given quality, for plain HTTP. */
export function badProxy({ clock, random }: DemoParts, quality: ProxyQuality): Promise<LocalService> {
  const { drops, delay, refuses, restarts = false } = quality
  const begun = clock.now()
  const isAway = (): boolean => restarts && (clock.now() - begun + 16_000) % 20_000 < 6000
  return listen((req, res) => {
    if (isAway() || random() < drops) return void req.socket.destroy()
    if (refuses !== undefined) return sendJson(res, refuses, { error: 'this proxy is not welcome there' })
    clock.setTimer(() => forward(req, res), delay * (0.5 + random()))
  })
}

/** Sends a request on to its target, one connection each: it is a demonstration. */
function forward(req: IncomingMessage, res: ServerResponse): void {
  const target = new URL(req.url ?? '/', 'http://127.0.0.1')
  const socket = connect(Number(target.port), target.hostname)
  const fail = (): void => {
    if (res.headersSent) res.destroy()
    else sendJson(res, 502, { error: 'the target does not answer' })
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
