import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Fault = (answer: ServerResponse) => void

const FAULTS: Record<string, Fault> = {
  reset: (answer) => answer.socket?.destroy(),
  busy: (answer) => answer.writeHead(503).end('busy'),
  silent: () => {}, // does not answer; the timeout of the caller ends the request
}

/** A local service. Each request names a fault and how often it happens before the service answers. */
export class FlakyService {
  private readonly seen = new Map<string, number>()
  private readonly server: Server
  readonly url: string

  private constructor(server: Server) {
    this.server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, answer) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', this.url)
      const key = `${pathname}#${searchParams.get('id')}`
      const count = (this.seen.get(key) ?? 0) + 1
      this.seen.set(key, count)
      if (count > Number(searchParams.get('times'))) answer.end(`${pathname} done`)
      else FAULTS[searchParams.get('fault') ?? '']?.(answer)
    })
  }

  static async start(): Promise<FlakyService> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FlakyService(server)
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }
}
