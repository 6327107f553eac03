import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** What a server does with a request: a status and more, or something worse than an answer. */
export type Act =
  | number
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'reset'
  | 'stall'
  | 'truncate'
  | ((request: IncomingMessage, response: ServerResponse) => void)

/** A request as it arrived, whole. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly seen: Seen[]
  /** How many connections were opened. */
  connections: number
  /** Acts for the requests to come; without any it answers 200 and says what it got. */
  readonly acts: Act[]
  close(): Promise<void>
}

/** A server on a port of its own that does what its script says, until the test ends. */
export async function serve(...acts: Act[]): Promise<TestServer> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const body = Buffer.concat(chunks).toString()
      test.seen.push({ method, url, headers, body })
      act(test.acts.shift() ?? { status: 200, body: `${method} ${url} ${body}`.trim() }, request, response)
    })
  })
  server.on('connection', (socket) => {
    test.connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const test: TestServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    seen: [],
    connections: 0,
    acts: [...acts],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  onTestFinished(() => test.close())
  return test
}

function act(what: Act, request: IncomingMessage, response: ServerResponse): void {
  if (typeof what === 'function') what(request, response)
  else if (what === 'reset') request.socket.resetAndDestroy()
  else if (what === 'truncate') {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => request.socket.destroy())
  } else if (what !== 'stall') {
    const { status, headers = {}, body = '' } = typeof what === 'number' ? { status: what } : what
    response.writeHead(status, headers).end(body)
  }
}

/** The url of a port that nobody listens on. */
export async function nobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

export const immediate = { backoffType: 'immediate' } as const

/** Waits until it is so, by looking again and again: for what a real socket brings about. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
