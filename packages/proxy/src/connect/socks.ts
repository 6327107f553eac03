import type { Socket } from 'node:net'
import { SocksClient } from 'socks'
import { ProxyConnectionError } from '../errors.js'
import { credentialsOf } from './credentials.js'
import type { TunnelTarget } from './handshake.js'
import type { ProxyUpstream } from './upstream.js'

/**
 * Has a SOCKS5 proxy connect an open socket to the target, whose name it resolves itself. The error that the library makes
 * holds our credentials and is not handed on.
 */
export async function socksConnect(
  socket: Socket,
  upstream: ProxyUpstream,
  target: TunnelTarget,
  timeout: number,
): Promise<void> {
  const { username, password } = credentialsOf(upstream) ?? {}
  try {
    await SocksClient.createConnection({
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
  } catch (error) {
    const { message } = error as Error
    throw new ProxyConnectionError(`the SOCKS5 proxy ${upstream.host} made no connection: ${message}`)
  }
  await pauseAfterHandshake(socket)
}

/** The library lets the socket flow a turn after it is done, whoever listens. What comes by then is put back. */
function pauseAfterHandshake(socket: Socket): Promise<void> {
  const early: Buffer[] = []
  const keep = (chunk: Buffer): void => void early.push(chunk)
  socket.on('data', keep)
  return new Promise((resolve) =>
    setImmediate(() => {
      socket.off('data', keep).pause()
      if (early.length > 0) socket.unshift(Buffer.concat(early))
      resolve()
    }),
  )
}
