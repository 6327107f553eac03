import type { Socket } from 'node:net'
import { classify } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { ProxyConnectionError } from '../errors.js'
import type { ProxyUpstream } from '../members/upstream.js'
import { abortable, dial } from './dial.js'
import { askForTunnel, type Target } from './handshake.js'
import { askSocks } from './socks.js'

const ignore = (): void => {}

/** A connection to the proxy itself, with TLS where it speaks `https://`. */
export async function reach(upstream: ProxyUpstream, signal: AbortSignal, halfOpen = false): Promise<Socket> {
  const { hostname: host, port, protocol, tls } = upstream
  try {
    return await dial({ host, port, signal, halfOpen, tls: protocol === 'https:' ? tls : undefined })
  } catch (cause) {
    // A certificate that does not do speaks of a target for good; of a proxy it says that another may do better.
    if (signal.aborted || ['network_error', 'timeout'].includes(classify(cause).kind)) throw cause
    throw new ProxyConnectionError(`connection to the proxy ${upstream.host} failed: ${messageOf(cause)}`, {
      cause,
    })
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Opens a tunnel through a proxy to the target. The socket is paused and has no listeners. Everything that goes wrong is
 * the proxy's fault, or looks like it from here.
 *
 * @throws the signal's reason where it is aborted, and a timeout where `connectTimeout` has passed
 */
export async function openTunnel(
  upstream: ProxyUpstream,
  target: Target,
  signal?: AbortSignal,
  halfOpen = false,
): Promise<Socket> {
  const limit = new Limit(upstream, signal)
  let socket: Socket | undefined
  try {
    socket = await reach(upstream, limit.signal, halfOpen)
    const release = abortable(socket, limit.signal)
    // Between two listeners of the handshake's own an error must not be anybody's to miss.
    socket.on('error', ignore)
    if (upstream.protocol === 'socks5:') await askSocks(socket, upstream, target, upstream.connectTimeout)
    else await askForTunnel(socket, upstream, target)
    release()
    socket.off('error', ignore)
    return socket
  } catch (error) {
    socket?.destroy()
    throw limit.signal.aborted ? limit.signal.reason : error
  } finally {
    limit.end()
  }
}

/** The time that reaching a proxy may take, or its caller's signal, whichever comes first. */
export class Limit {
  readonly signal: AbortSignal
  private readonly controller = new AbortController()
  private readonly outer: AbortSignal | undefined
  private readonly follow: () => void
  private readonly timer: unknown

  constructor(
    { connectTimeout, host }: { readonly connectTimeout: number; readonly host: string },
    outer: AbortSignal | undefined,
  ) {
    const { controller } = this
    this.signal = controller.signal
    this.outer = outer
    this.follow = () => controller.abort(outer?.reason)
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
    if (outer?.aborted) this.follow()
    else outer?.addEventListener('abort', this.follow, { once: true })
  }

  end(): void {
    systemClock.clearTimer(this.timer)
    this.outer?.removeEventListener('abort', this.follow)
  }
}
