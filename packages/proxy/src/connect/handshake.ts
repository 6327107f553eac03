import type { Socket } from 'node:net'
import { ProxyConnectionError } from '../errors.js'
import { basicAuthorization, credentialsOf } from './credentials.js'
import type { ProxyUpstream } from './upstream.js'

/** Where a tunnel leads. `host` is a name, an IPv4 address or an IPv6 address without brackets. */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
}

/** The longest head that a proxy may answer CONNECT with. */
const MAX_HEAD_BYTES = 16_384

/** How many answers that only say that another is to come are read. */
const MAX_INTERIM_RESPONSES = 10

/** `host:port` as it stands in a request. */
const formatAuthority = ({ host, port }: TunnelTarget): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Asks a proxy over a connected socket for a tunnel; resolves when it stands. */
export async function sendConnect(
  socket: Socket,
  upstream: ProxyUpstream,
  target: TunnelTarget,
): Promise<void> {
  const where = formatAuthority(target)
  const credentials = credentialsOf(upstream)
  const authorization =
    credentials === undefined ? '' : `Proxy-Authorization: ${basicAuthorization(credentials)}\r\n`
  socket.write(`CONNECT ${where} HTTP/1.1\r\nHost: ${where}\r\n${authorization}\r\n`)
  for (let interim = 0; ; interim++) {
    const head = await readHead(socket, `the proxy ${upstream.host}`)
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(head[0] ?? '')?.[1])
    if (status >= 200 && status < 300) return
    const more = status >= 100 && status < 200 && status !== 101
    if (!more || interim === MAX_INTERIM_RESPONSES) throw createConnectError(upstream, status, head)
  }
}

function createConnectError(
  upstream: ProxyUpstream,
  status: number,
  head: readonly string[],
): ProxyConnectionError {
  if (!(status >= 100))
    return new ProxyConnectionError(`the proxy ${upstream.host} sent a response that is not HTTP`)
  // It speaks of our credentials with this proxy and of nothing else: there is no status to be judged by.
  if (status === 407) return new ProxyConnectionError(`the proxy ${upstream.host} rejected the credentials`)
  const headers: Record<string, string> = {}
  for (const line of head.slice(1)) {
    const colon = line.indexOf(':')
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return new ProxyConnectionError(`the proxy ${upstream.host} rejected CONNECT with status ${status}`, {
    status: status < 400 ? undefined : status,
    headers,
  })
}

const LF = 10
const CR = 13

/** Where the last line before the empty one ends, and where that does; a line may end without a CR, as parsers allow. */
function findHeadEnd(read: Buffer): { readonly end: number; readonly next: number } | undefined {
  for (let at = read.indexOf(LF); at >= 0; at = read.indexOf(LF, at + 1)) {
    if (read[at + 1] === LF) return { end: at + 1, next: at + 2 }
    if (read[at + 1] === CR && read[at + 2] === LF) return { end: at + 1, next: at + 3 }
  }
  return undefined
}

/** Reads lines up to the empty one, and leaves what follows in the socket, which is paused. `who` sends them. */
function readHead(socket: Socket, who: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let read: Buffer = Buffer.alloc(0)
    const settle = (settled: () => void): void => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onEnd)
      settled()
    }
    const fail = (error: Error): void => settle(() => reject(error))
    const onError = (error: Error): void => fail(error)
    const onEnd = (): void =>
      fail(new ProxyConnectionError(`${who} closed the connection before its response`))
    const onData = (chunk: Buffer): void => {
      read = read.length === 0 ? chunk : Buffer.concat([read, chunk])
      const ends = findHeadEnd(read)
      if (ends !== undefined)
        settle(() => {
          socket.pause()
          const rest = read.subarray(ends.next)
          if (rest.length > 0) socket.unshift(rest)
          resolve(read.toString('latin1', 0, ends.end).split(/\r?\n/).slice(0, -1))
        })
      else if (read.length > MAX_HEAD_BYTES || !'HTTP/1.'.startsWith(read.toString('latin1', 0, 7)))
        fail(new ProxyConnectionError(`${who} sent a response that is not HTTP`))
    }
    socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onEnd).resume()
  })
}
