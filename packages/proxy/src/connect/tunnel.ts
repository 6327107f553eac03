import type { Socket } from 'node:net'
import { classify } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { ProxyConnectionError } from '../errors.js'
import { connectSocket, destroyOnAbort } from './connect-socket.js'
import { sendConnect, type TunnelTarget } from './handshake.js'
import { socksConnect } from './socks.js'
import type { ProxyUpstream } from './upstream.js'

/** Opens a connection to the proxy itself, with TLS for `https://`. */
export async function connectToProxy(
  upstream: ProxyUpstream,
  signal: AbortSignal,
  isHalfOpen = false,
): Promise<Socket> {
  const { hostname: host, port, protocol, tls } = upstream
  try {
    return await connectSocket({
      host,
      port,
      signal,
      halfOpen: isHalfOpen,
      tls: protocol === 'https:' ? tls : undefined,
    })
  } catch (cause) {
    // A certificate error is permanent for a target, but another proxy can succeed.
    if (signal.aborted || ['network_error', 'timeout'].includes(classify(cause).kind)) throw cause
    throw new ProxyConnectionError(
      `connection to the proxy ${upstream.host} failed: ${errorMessage(cause)}`,
      {
        cause,
      },
    )
  }
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Opens a tunnel through a proxy to the target. The socket is paused, and its errors are ignored. Every failure counts as a
 * fault of the proxy.
 *
 * @throws the reason of the signal when it is aborted, and a timeout after `connectTimeout`
 */
export async function openTunnel(
  upstream: ProxyUpstream,
  target: TunnelTarget,
  signal?: AbortSignal,
  isHalfOpen = false,
): Promise<Socket> {
  const deadline = new ConnectDeadline(upstream, signal)
  let socket: Socket | undefined
  try {
    socket = await connectToProxy(upstream, deadline.signal, isHalfOpen)
    const release = destroyOnAbort(socket, deadline.signal)
    if (upstream.protocol === 'socks5:') await socksConnect(socket, upstream, target, upstream.connectTimeout)
    else await sendConnect(socket, upstream, target)
    release()
    // A listener that is attached later would not learn that the proxy closed the connection while it confirmed the tunnel.
    if (socket.destroyed || socket.readableEnded)
      throw new ProxyConnectionError(`the proxy ${upstream.host} closed the connection after its response`)
    return socket
  } catch (error) {
    socket?.destroy()
    throw deadline.signal.aborted ? deadline.signal.reason : error
  } finally {
    deadline.end()
  }
}

/** A signal that is aborted by a connect timeout or by the signal of the caller. */
export class ConnectDeadline {
  readonly signal: AbortSignal
  private readonly controller = new AbortController()
  private readonly callerSignal: AbortSignal | undefined
  private readonly onCallerAbort: () => void
  private readonly timer: unknown

  constructor(
    { connectTimeout, host }: { readonly connectTimeout: number; readonly host: string },
    callerSignal: AbortSignal | undefined,
  ) {
    const { controller } = this
    this.signal = controller.signal
    this.callerSignal = callerSignal
    this.onCallerAbort = () => controller.abort(callerSignal?.reason)
    // Connecting takes real time, so the injected clock is not used.
    this.timer = systemClock.setTimer(
      () =>
        controller.abort(
          Object.assign(
            new ProxyConnectionError(`connection to ${host} timed out after ${connectTimeout} ms`),
            {
              code: 'ETIMEDOUT',
            },
          ),
        ),
      connectTimeout,
    )
    if (callerSignal?.aborted) this.onCallerAbort()
    else callerSignal?.addEventListener('abort', this.onCallerAbort, { once: true })
  }

  end(): void {
    systemClock.clearTimer(this.timer)
    this.callerSignal?.removeEventListener('abort', this.onCallerAbort)
  }
}
