// A local HTTP server with a function for its responses.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A response with JSON or text, or no response at all. */
export type Answer = { status?: number; json?: unknown; text?: string; retryAfter?: number } | 'silence'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly token: string | undefined
}

async function read(request: IncomingMessage): Promise<Asked> {
  let body = ''
  for await (const data of request) body += String(data)
  return {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    body: body === '' ? undefined : (JSON.parse(body) as unknown),
    token: request.headers.authorization,
  }
}

export interface Service {
  readonly url: string
  close(): Promise<void>
}

/** Starts a service on a free port. */
export async function serve(answer: (asked: Asked) => Answer): Promise<Service> {
  const server = createServer((request, response) => {
    const reply = (asked: Asked): void => {
      const said = answer(asked)
      if (said === 'silence') return
      const { status = 200, json, text = JSON.stringify(json), retryAfter } = said
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      })
      response.end(text)
    }
    // A client that aborts its request gets no response.
    void read(request).then(reply, () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
