import type { Socket } from 'node:net'
import { ProxyConnectionError } from '../errors.js'
import { basicAuthorization, credentialsOf } from './credentials.js'
import type { ProxyUpstream } from './upstream.js'

/** The target of a tunnel. `host` is a name, an IPv4 address or an IPv6 address without brackets. */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
}

/** The maximum size of the head of a response to CONNECT, with the empty line at its end. */
const MAX_HEAD_BYTES = 16_384

/** The maximum number of 1xx responses before the final response. */
const MAX_INTERIM_RESPONSES = 10

/** `host:port` as in a request line. */
const formatAuthority = ({ host, port }: TunnelTarget): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Requests a tunnel from a proxy over a connected socket; resolves when it is open. */
export async function sendConnect(
  socket: Socket,
  upstream: ProxyUpstream,
  target: TunnelTarget,
): Promise<void> {
  const authority = formatAuthority(target)
  const credentials = credentialsOf(upstream)
  const authorization =
    credentials === undefined ? '' : `Proxy-Authorization: ${basicAuthorization(credentials)}\r\n`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
  for (let interim = 0; ; interim++) {
    const head = await readHead(socket, `the proxy ${upstream.host}`)
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(head[0] ?? '')?.[1])
    if (status >= 200 && status < 300) return
    const isInterim = status >= 100 && status < 200 && status !== 101
    if (!isInterim || interim === MAX_INTERIM_RESPONSES) throw createConnectError(upstream, status, head)
  }
}

function createConnectError(
  upstream: ProxyUpstream,
  status: number,
  head: readonly string[],
): ProxyConnectionError {
  if (!(status >= 100))
    return new ProxyConnectionError(`the proxy ${upstream.host} sent a response that is not HTTP`)
  // A 407 concerns only the credentials for this proxy, so the error has no status that would be classified.
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

/** The end of the last header line and the end of the empty line after it. A line can end without a CR, as parsers allow. */
function findHeadEnd(read: Buffer): { readonly end: number; readonly next: number } | undefined {
  for (let at = read.indexOf(LF); at >= 0; at = read.indexOf(LF, at + 1)) {
    if (read[at + 1] === LF) return { end: at + 1, next: at + 2 }
    if (read[at + 1] === CR && read[at + 2] === LF) return { end: at + 1, next: at + 3 }
  }
  return undefined
}

/** Reads the lines up to the empty line. Further bytes stay in the socket, which is paused. `sender` is for error messages. */
function readHead(socket: Socket, sender: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let read: Buffer = Buffer.alloc(0)
    const settle = (callback: () => void): void => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onEnd)
      callback()
    }
    const fail = (error: Error): void => settle(() => reject(error))
    const onError = (error: Error): void => fail(error)
    const onEnd = (): void =>
      fail(new ProxyConnectionError(`${sender} closed the connection before its response`))
    const onData = (chunk: Buffer): void => {
      read = read.length === 0 ? chunk : Buffer.concat([read, chunk])
      const headEnd = findHeadEnd(read)
      // A head can arrive in one chunk, so its end is compared with the limit too, and not only the bytes without an end.
      if ((headEnd?.next ?? read.length) > MAX_HEAD_BYTES)
        fail(new ProxyConnectionError(`${sender} sent a response head of more than ${MAX_HEAD_BYTES} bytes`))
      else if (headEnd !== undefined)
        settle(() => {
          socket.pause()
          const rest = read.subarray(headEnd.next)
          if (rest.length > 0) socket.unshift(rest)
          resolve(read.toString('latin1', 0, headEnd.end).split(/\r?\n/).slice(0, -1))
        })
      else if (!'HTTP/1.'.startsWith(read.toString('latin1', 0, 7)))
        fail(new ProxyConnectionError(`${sender} sent a response that is not HTTP`))
    }
    socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onEnd).resume()
  })
}
