import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A scripted response: a status, or a status with headers and a body, or a function that responds. */
type Reply =
  | number
  | { status: number; headers?: OutgoingHttpHeaders; body?: string }
  | ((request: IncomingMessage, response: ServerResponse) => void)

interface ReceivedRequest {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestServer {
  readonly url: string
  /** Returns a path whose requests get these responses in order; the last one is repeated. */
  script(replies: readonly Reply[]): string
  /** The requests that this path has received. */
  requests(path: string): readonly ReceivedRequest[]
  /** Resolves when this path has received `count` requests. */
  received(path: string, count: number): Promise<void>
  close(): Promise<void>
}

/** Starts an HTTP server on a free port. */
export async function startHttpServer(): Promise<TestServer> {
  const scripts = new Map<string, { replies: readonly Reply[]; received: ReceivedRequest[] }>()
  const listeners = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://server')
      const script = scripts.get(pathname.replace(/\/$/, ''))
      if (script === undefined) return void response.writeHead(404).end()
      const { method = '', headers } = request
      script.received.push({ method, headers, body: Buffer.concat(chunks).toString() })
      for (const listener of listeners) listener()
      const reply = script.replies[Math.min(script.received.length, script.replies.length) - 1] ?? 200
      if (typeof reply === 'function') return reply(request, response)
      const {
        status,
        headers: replyHeaders,
        body,
      } = typeof reply === 'number' ? { status: reply, headers: undefined, body: undefined } : reply
      response.writeHead(status, replyHeaders).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script(replies) {
      const path = `/${scripts.size + 1}`
      scripts.set(path, { replies, received: [] })
      return path
    },
    requests: (path) => scripts.get(path)?.received ?? [],
    received: (path, count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if ((scripts.get(path)?.received.length ?? 0) < count) return
          listeners.delete(check)
          resolve()
        }
        listeners.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
