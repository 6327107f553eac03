import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

/** The target of a connection and its options. */
export interface DialOptions {
  readonly host: string
  readonly port: number
  /** The options of TLS; absent for a connection without TLS. */
  readonly tls?: ConnectionOptions | undefined
  /** Resolves the name; the default is that of Node. */
  readonly lookup?: LookupFunction | undefined
  /** Whether one side can stop sending before the other. */
  readonly halfOpen?: boolean | undefined
  /** Cancels the connection attempt. */
  readonly signal?: AbortSignal | undefined
}

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)))

/** Destroys the socket when the signal is aborted, until the function it returns is called. */
export function destroyOnAbort(socket: Socket, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => {}
  const abort = (): void => void socket.destroy(toError(signal.reason))
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

const ignoreError = (): void => {}

/**
 * Opens a connection; resolves when it is established, TLS included. An error of the open socket is never unhandled: the code
 * that uses the socket can attach its listeners later, and finds a socket that failed before destroyed.
 */
export function connectSocket({
  host,
  port,
  tls,
  lookup,
  halfOpen = false,
  signal,
}: DialOptions): Promise<Socket> {
  const socketOptions = { allowHalfOpen: halfOpen, ...(lookup === undefined ? {} : { lookup }) }
  const socket =
    tls === undefined
      ? connectTcp({
          host,
          port,
          noDelay: true,
          keepAlive: true,
          keepAliveInitialDelay: 60_000,
          ...socketOptions,
        })
      : connectTls({ host, port, ALPNProtocols: ['http/1.1'], ...socketOptions, ...tls })
  socket.on('error', ignoreError)
  const release = destroyOnAbort(socket, signal)
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      release()
      reject(error)
    }
    socket.once('error', onError).once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.off('error', onError)
      release()
      resolve(socket)
    })
  })
}
