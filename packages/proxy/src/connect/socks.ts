import type { Socket } from 'node:net'
import { SocksClient } from 'socks'
import { ProxyConnectionError } from '../errors.js'
import { credentialsOf } from './credentials.js'
import type { TunnelTarget } from './handshake.js'
import type { ProxyUpstream } from './upstream.js'

/**
 * Requests a SOCKS5 proxy to connect an open socket to the target, whose name the proxy resolves. The error of the library
 * contains the credentials and is not used as a cause.
 */
export async function socksConnect(
  socket: Socket,
  upstream: ProxyUpstream,
  target: TunnelTarget,
  timeout: number,
): Promise<void> {
  const { username, password } = credentialsOf(upstream) ?? {}
  let hasAddress = false
  try {
    const { remoteHost } = await SocksClient.createConnection({
      proxy: {
        host: upstream.hostname,
        port: upstream.port,
        type: 5,
        ...(username === undefined ? {} : { userId: username, password: password ?? '' }),
      },
      command: 'connect',
      destination: target,
      timeout,
      existing_socket: socket,
    })
    hasAddress = remoteHost !== undefined
  } catch (error) {
    const { message } = error as Error
    throw new ProxyConnectionError(`the SOCKS5 proxy ${upstream.host} failed to connect: ${message}`)
  }
  // The library accepts a reply with an unknown address type and treats its address as bytes of the target.
  if (!hasAddress)
    throw new ProxyConnectionError(
      `the SOCKS5 proxy ${upstream.host} failed to connect: it sent a reply with an unknown address type`,
    )
  await pauseAfterHandshake(socket)
}

/** The library resumes the socket for one turn after the handshake. Bytes that arrive in that turn are put back. */
function pauseAfterHandshake(socket: Socket): Promise<void> {
  const earlyChunks: Buffer[] = []
  const onData = (chunk: Buffer): void => void earlyChunks.push(chunk)
  socket.on('data', onData)
  return new Promise((resolve) =>
    setImmediate(() => {
      socket.off('data', onData).pause()
      if (earlyChunks.length > 0) socket.unshift(Buffer.concat(earlyChunks))
      resolve()
    }),
  )
}
