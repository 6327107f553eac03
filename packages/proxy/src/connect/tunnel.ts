import type { Socket } from 'node:net'
import { classify } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { ProxyConnectionError } from '../errors.js'
import { connectSocket, destroyOnAbort } from './connect-socket.js'
import { sendConnect, type TunnelTarget } from './handshake.js'
import { socksConnect } from './socks.js'
import type { ProxyUpstream } from './upstream.js'

const ignoreError = (): void => {}

/** A connection to the proxy itself, with TLS where it speaks `https://`. */
export async function connectToProxy(
  upstream: ProxyUpstream,
  signal: AbortSignal,
  halfOpen = false,
): Promise<Socket> {
  const { hostname: host, port, protocol, tls } = upstream
  try {
    return await connectSocket({ host, port, signal, halfOpen, tls: protocol === 'https:' ? tls : undefined })
  } catch (cause) {
    // A certificate that does not do speaks of a target for good; of a proxy it says that another may do better.
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
 * Opens a tunnel through a proxy to the target. The socket is paused and has no listeners. Everything that goes wrong is
 * the proxy's fault, or looks like it from here.
 *
 * @throws the signal's reason where it is aborted, and a timeout where `connectTimeout` has passed
 */
export async function openTunnel(
  upstream: ProxyUpstream,
  target: TunnelTarget,
  signal?: AbortSignal,
  halfOpen = false,
): Promise<Socket> {
  const deadline = new ConnectDeadline(upstream, signal)
  let socket: Socket | undefined
  try {
    socket = await connectToProxy(upstream, deadline.signal, halfOpen)
    const release = destroyOnAbort(socket, deadline.signal)
    // Between two listeners of the handshake's own an error must not be anybody's to miss.
    socket.on('error', ignoreError)
    if (upstream.protocol === 'socks5:') await socksConnect(socket, upstream, target, upstream.connectTimeout)
    else await sendConnect(socket, upstream, target)
    release()
    socket.off('error', ignoreError)
    return socket
  } catch (error) {
    socket?.destroy()
    throw deadline.signal.aborted ? deadline.signal.reason : error
  } finally {
    deadline.end()
  }
}

/** The time that reaching a proxy may take, or its caller's signal, whichever comes first. */
export class ConnectDeadline {
  readonly signal: AbortSignal
  private readonly controller = new AbortController()
  private readonly callerSignal: AbortSignal | undefined
  private readonly onCallerAbort: () => void
  private readonly timer: unknown

  constructor(
    { connectTimeout, host }: { readonly connectTimeout: number; readonly host: string },
    outer: AbortSignal | undefined,
  ) {
    const { controller } = this
    this.signal = controller.signal
    this.callerSignal = outer
    this.onCallerAbort = () => controller.abort(outer?.reason)
    // How long a network takes to connect is real time, whatever clock the policies go by.
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
    if (outer?.aborted) this.onCallerAbort()
    else outer?.addEventListener('abort', this.onCallerAbort, { once: true })
  }

  end(): void {
    systemClock.clearTimer(this.timer)
    this.callerSignal?.removeEventListener('abort', this.onCallerAbort)
  }
}
