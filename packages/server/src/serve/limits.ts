import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Duration } from 'holdfast'
import type { ConnectionTracker } from './connections.js'

/** Timeouts and the connection limit, which prevent slow or idle clients from exhausting the server. */
export interface LimitOptions {
  /**
   * How long a client can take to send the head of a request. For the first request the time begins with the connection. A head
   * that is late because the server did not read the connection while earlier requests waited has `requestTimeout` once more.
   * @defaultValue `server.header_timeout` of the file, else '10s'
   */
  headerTimeout?: Duration | undefined
  /**
   * How long a client can take to send a whole request, body included. The duration of the response is not limited.
   * @defaultValue `server.request_timeout` of the file, else '60s'
   */
  requestTimeout?: Duration | undefined
  /**
   * How long a connection stays open without a request, and how long a client can leave a response unread. Waiting for a
   * response or for the next event of the stream does not count as idle.
   * @defaultValue `server.idle_timeout` of the file, else '60s'
   */
  idleTimeout?: Duration | undefined
  /** The maximum number of open connections; further ones are closed at once. @defaultValue `server.max_connections` of the file, else 10000 */
  maxConnections?: number | undefined
}

/** {@link LimitOptions} with all defaults filled in; durations are milliseconds. */
export interface ServerLimits {
  readonly headerTimeout: number
  readonly requestTimeout: number
  readonly idleTimeout: number
  readonly maxConnections: number
}

/** The options of a Node server that follow from the limits. */
export const serverOptions = ({ headerTimeout, requestTimeout, idleTimeout }: ServerLimits) => ({
  // Node requires that the timeout of the head is not longer than that of the whole request.
  headersTimeout: Math.min(headerTimeout, requestTimeout),
  requestTimeout,
  keepAliveTimeout: idleTimeout,
  // How often Node checks for connections that have timed out.
  connectionsCheckingInterval: Math.min(5000, Math.max(50, Math.min(headerTimeout, requestTimeout) / 2)),
  // A missing Host header is rejected by findHeadProblem, so that the response has the usual headers.
  requireHostHeader: false,
  // Only HTTPS servers use it.
  handshakeTimeout: headerTimeout,
})

/** The minimum time between two warnings about the connection limit. */
const LOG_EVERY_MS = 60_000

/** Applies the limits for which Node has no option. */
export function enforceLimits(
  server: Server,
  connections: ConnectionTracker,
  { idleTimeout, maxConnections }: ServerLimits,
  { clock, warn }: { clock: Clock; warn: (message: string) => void },
): void {
  server.maxConnections = maxConnections
  server.timeout = idleTimeout
  server.on('timeout', (socket: Socket) => {
    // A request in progress is not idle: it waits for its response or reads the event stream. Unsent bytes mean that the client does not read.
    if (!connections.isBusy(socket) || socket.writableLength > 0) socket.destroy()
  })
  let loggedAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (clock.now() - loggedAt < LOG_EVERY_MS) return
    loggedAt = clock.now()
    warn(
      `connection limit reached (${maxConnections}): closing new connections; server.max_connections raises it`,
    )
  })
}
