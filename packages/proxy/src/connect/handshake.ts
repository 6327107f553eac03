import type { Socket } from 'node:net'
import { ProxyConnectionError } from '../errors.js'
import { basic, credentialsOf } from '../members/credentials.js'
import type { ProxyUpstream } from '../members/upstream.js'

/** Where a tunnel leads. `host` is a name, an IPv4 address or an IPv6 address without brackets. */
export interface Target {
  readonly host: string
  readonly port: number
}

/** The longest head that a proxy may answer CONNECT with. */
const LONGEST_HEAD = 16_384

const END = Buffer.from('\r\n\r\n')

/** `host:port` as it stands in a request. */
const authority = ({ host, port }: Target): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Asks a proxy over a connected socket for a tunnel; resolves when it stands. */
export async function askForTunnel(socket: Socket, upstream: ProxyUpstream, target: Target): Promise<void> {
  const where = authority(target)
  const credentials = credentialsOf(upstream)
  const authorization = credentials === undefined ? '' : `Proxy-Authorization: ${basic(credentials)}\r\n`
  socket.write(`CONNECT ${where} HTTP/1.1\r\nHost: ${where}\r\n${authorization}\r\n`)
  const head = await readHead(socket, `the proxy ${upstream.host}`)
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(head[0] ?? '')?.[1])
  if (status >= 200 && status < 300) return
  throw refusal(upstream, status, head)
}

function refusal(upstream: ProxyUpstream, status: number, head: readonly string[]): ProxyConnectionError {
  if (!(status >= 100)) return new ProxyConnectionError(`the proxy ${upstream.host} does not answer in HTTP`)
  // It speaks of our credentials with this proxy and of nothing else: there is no status to be judged by.
  if (status === 407) return new ProxyConnectionError(`the proxy ${upstream.host} refuses our credentials`)
  const headers: Record<string, string> = {}
  for (const line of head.slice(1)) {
    const colon = line.indexOf(':')
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return new ProxyConnectionError(`the proxy ${upstream.host} refused a tunnel with ${status}`, {
    status: status < 400 ? undefined : status,
    headers,
  })
}

/** Reads lines up to the empty one, and leaves what follows in the socket, which is paused. `who` sends them. */
export function readHead(socket: Socket, who: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let read: Buffer = Buffer.alloc(0)
    const settle = (settled: () => void): void => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onEnd)
      settled()
    }
    const fail = (error: Error): void => settle(() => reject(error))
    const onError = (error: Error): void => fail(error)
    const onEnd = (): void =>
      fail(new ProxyConnectionError(`${who} closed the connection before it answered`))
    const onData = (chunk: Buffer): void => {
      read = read.length === 0 ? chunk : Buffer.concat([read, chunk])
      const end = read.indexOf(END)
      if (end >= 0)
        settle(() => {
          socket.pause()
          const rest = read.subarray(end + END.length)
          if (rest.length > 0) socket.unshift(rest)
          resolve(read.toString('latin1', 0, end).split('\r\n'))
        })
      else if (read.length > LONGEST_HEAD || !'HTTP/1.'.startsWith(read.toString('latin1', 0, 7)))
        fail(new ProxyConnectionError(`${who} does not answer in HTTP`))
    }
    socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onEnd).resume()
  })
}
