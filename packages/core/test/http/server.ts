import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** The behaviour of a server for one request: a response, or a fault. */
export type Act =
  | number
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'reset'
  | 'stall'
  | 'truncate'
  | ((request: IncomingMessage, response: ServerResponse) => void)

/** A received request with its body. */
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
  /** The number of opened connections. */
  connections: number
  /** The behaviour for the next requests; without any the server answers 200 with the received request. */
  readonly acts: Act[]
  close(): Promise<void>
}

/** Starts a scripted server on its own port, which is closed at the end of the test. */
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

/** The URL of a port without a listener. */
export async function nobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

export const immediate = { backoffType: 'immediate' } as const

/** Polls until a condition is true, for effects of real sockets. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
