import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as it arrived at the target, whole. */
interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Target {
  readonly server: Server
  readonly url: string
  readonly port: number
  readonly arrived: Arrived[]
  /** What it answers; the default says what it got. */
  answer: (request: Arrived, response: ServerResponse) => void
}

/** Where the requests are meant to arrive: a real server, on a port of its own, until the test ends. */
export async function startTarget(answer?: Target['answer']): Promise<Target> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() }
      target.arrived.push(one)
      target.answer(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const target: Target = {
    server,
    url: `http://127.0.0.1:${port}`,
    port,
    arrived: [],
    answer: answer ?? (({ method, url, body }, response) => response.end(`${method} ${url} ${body}`.trim())),
  }
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return target
}

/** Destroys every connection of a server when the test ends. */
export function closeWithTest(server: import('node:net').Server): void {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
}
