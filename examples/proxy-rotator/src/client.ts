import { Agent, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'

/** A response through the forward proxy. */
export interface Reply {
  readonly status: number
  /** The proxy of the pool that the response came through, from its header. */
  readonly via: string | undefined
  readonly retryAfter: number | undefined
}

const replyOf = ({ statusCode = 0, headers }: IncomingMessage): Reply => ({
  status: statusCode,
  via: headers['x-via'] as string | undefined,
  retryAfter: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
})

/** An HTTP client that uses the forward proxy, as a client in any language can. */
export class Client {
  private readonly port: number
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor(proxy: string) {
    this.port = Number(new URL(proxy).port)
  }

  get(url: string, headers: Record<string, string> = {}): Promise<Reply> {
    const { port, agent } = this
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path: url, agent, headers }, (answer) => {
        answer.resume().on('end', () => resolve(replyOf(answer)))
      })
        .on('error', reject)
        .end()
    })
  }

  /** Sends the request through a tunnel (CONNECT). */
  tunnel(url: string): Promise<Reply> {
    const { host } = new URL(url)
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: this.port, method: 'CONNECT', path: host, agent: false })
        .on('connect', (answer: IncomingMessage, socket: Socket) => {
          if (answer.statusCode !== 200) {
            socket.destroy()
            resolve(replyOf(answer))
            return
          }
          request(url, { createConnection: () => socket, agent: false }, (inner) => {
            inner.resume().on('end', () => resolve(replyOf(inner)))
          })
            .on('error', reject)
            .end()
        })
        .on('error', reject)
        .end()
    })
  }

  close(): void {
    this.agent.destroy()
  }
}

/** Runs a function many times with limited concurrency. */
export async function many<T>(count: number, act: (n: number) => Promise<T>, together = 48): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const n = next++
      results[n] = await act(n)
    }
  }
  await Promise.all(Array.from({ length: Math.min(together, count) }, worker))
  return results
}

/** Runs a function with limited concurrency until `enough` returns true, which is checked after every 100 results. */
export async function until<T>(
  enough: () => Promise<boolean>,
  act: () => Promise<T>,
  { most = 30_000, together = 48 } = {},
): Promise<T[]> {
  const results: T[] = []
  let over = false
  const worker = async (): Promise<void> => {
    while (!over && results.length < most) {
      const length = results.push(await act())
      if (length % 100 === 0 && (await enough())) over = true
    }
  }
  await Promise.all(Array.from({ length: together }, worker))
  return results
}
