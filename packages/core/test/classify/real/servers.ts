import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Listens on a free port until the test is over. */
async function listen(server: Server, sockets: Set<Socket>): Promise<number> {
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** How an HTTP server handles every request: a response, no response, or a closed connection. */
export type Behaviour =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | 'silent'
  | 'broken'

/** The URL of an HTTP server that handles every request the same way. */
export async function httpServer(behaviour: Behaviour): Promise<string> {
  const server = createServer((request, response) => {
    if (behaviour === 'silent') return
    if (behaviour === 'broken') {
      request.socket.destroy()
      return
    }
    const { status, headers, body = { message: 'no' } } = behaviour
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  })
  return `http://127.0.0.1:${await listen(server, new Set())}`
}

/** The port of a server that sends bytes at once or after the first data, and can close the connection after that. */
export function tcpServer(
  greeting: Buffer | undefined,
  when: 'connect' | 'data',
  hangUp: boolean,
): Promise<number> {
  const server = createTcpServer((socket) => {
    const speak = () => {
      if (greeting !== undefined) socket.write(greeting)
      if (hangUp) socket.end()
    }
    if (when === 'connect') speak()
    else socket.once('data', speak)
  })
  return listen(server, new Set())
}

/** A port that nothing listens on, and that the system gives to no other socket. */
export { findFreePort as closedPort } from '../../../../../scripts/servers/ports.mjs'

/** The error of a call that must fail. */
export async function failure(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
