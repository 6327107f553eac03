import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ClientConnections } from './client-connection.js'
import { handleConnect } from './connect.js'
import type { ProxyHandlerContext } from './context.js'
import { type ErrorResponse, sendError, sendErrorOnSocket, UNKNOWN_EXPECTATION } from './error-responses.js'
import { parseRequestHead } from './headers.js'
import { handleRequest } from './http-request.js'
import { PendingClient } from './pending-client.js'
import { encodeUrl, readLine } from './raw-url.js'
import { answerOwn } from './status-page.js'
import { handleWebSocket, isWebSocket, removeUpgrade } from './upgrade.js'

interface ParserError extends NodeJS.ErrnoException {
  /** The bytes that the parser was reading. */
  readonly rawPacket?: Buffer
  /** How many of them it had read before the error. */
  readonly bytesParsed?: number
}

/** The codes of errors after which the client sends no further bytes. */
const DISCONNECTED = new Set<string | undefined>(['ECONNRESET', 'HPE_INVALID_EOF_STATE'])

/** Creates the HTTP server of a proxy. It can listen, or receive connections by the event `connection`. */
export function createHttpServer(proxyContext: ProxyHandlerContext): Server {
  const { maxHeaderSize, idleTimeout, headTimeout, maxConnections } = proxyContext.settings
  const connections = new ClientConnections(maxHeaderSize, idleTimeout)
  const onRequest = (req: IncomingMessage, res: ServerResponse, expectation?: ErrorResponse): void => {
    const connection = connections.get(req.socket)
    const head = parseRequestHead(req)
    const { isChunked, contentLength, problem = expectation } = head
    const isHandled = connection.add(req, res, isChunked || contentLength > 0)
    res.on('prefinish', () => connection.updateTimeout())
    res.on('close', () => {
      connection.delete(res)
      // Idle connections are closed while the proxy is shutting down.
      if (proxyContext.isClosing) setImmediate(() => server.closeIdleConnections())
    })
    // A request behind one that closes the connection is not handled: another server could parse it as part of that one.
    if (!isHandled) return
    if (problem !== undefined || isLastOfHttp10(req, isChunked) || connection.isRecovered)
      connection.closeAfter(res)
    if (problem !== undefined) {
      proxyContext.counts.refused++
      sendError(res, problem)
    } else if (isForProxyItself(req)) answerOwn(proxyContext, res)
    else connection.schedule(res, () => handleRequest(proxyContext, req, res, head, connection))
  }
  const server = createServer(
    {
      maxHeaderSize,
      keepAliveTimeout: idleTimeout,
      headersTimeout: headTimeout,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(5000, Math.max(100, headTimeout / 2)),
      noDelay: true,
      insecureHTTPParser: false,
      // The head is checked here, so that the response to one without Host closes the connection as every rejection does.
      requireHostHeader: false,
    },
    (req: IncomingMessage, res: ServerResponse) => onRequest(req, res),
  )
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    onRequest(req, res, UNKNOWN_EXPECTATION),
  )
  server.maxConnections = maxConnections
  server.on('connection', (socket: Socket) => {
    // The event is emitted again for a connection whose request is parsed a second time.
    if (connections.has(socket)) return
    const connection = connections.get(socket)
    proxyContext.connections++
    socket.on('data', connection.onData).on('resume', connection.pauseIfBusy)
    socket.once('close', () => {
      proxyContext.connections--
      connection.close()
      if (proxyContext.connections === 0) proxyContext.onIdle?.()
    })
  })
  /** Waits until the requests before one that takes over its connection have their responses, and then handles it. */
  const takeOver = async (
    socket: Socket,
    head: Buffer,
    handle: (client: PendingClient) => unknown,
  ): Promise<void> => {
    const connection = connections.get(socket)
    socket.off('data', connection.onData)
    const client = new PendingClient(socket, head)
    proxyContext.tunnels.addPending(socket)
    await connection.waitForPending()
    socket.setTimeout(0)
    // A request behind one that closes the connection is not handled.
    if (!connection.isClosing) handle(client)
  }
  const ignoreUpgrade = (req: IncomingMessage, client: PendingClient): void => {
    const { socket } = client
    socket.pause()
    socket.unshift(Buffer.concat([removeUpgrade(req), client.end()]))
    server.emit('connection', socket)
    socket.on('data', connections.get(socket).onData).resume()
  }
  server.on('connect', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    void takeOver(socket, head, (client) => handleConnect(proxyContext, req, client))
  })
  server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    void takeOver(socket, head, (client) =>
      isWebSocket(req) ? handleWebSocket(proxyContext, req, client) : ignoreUpgrade(req, client),
    )
  })
  /** Gives a request to a second parser after the first rejected its URL for non-ASCII bytes. */
  const parseAnew = (socket: Socket, bytes: Buffer): void => {
    const request = encodeUrl(bytes)
    if (request === undefined)
      return sendErrorOnSocket(
        socket,
        toBadRequest(bytes.length > maxHeaderSize ? 'HPE_HEADER_OVERFLOW' : undefined),
      )
    socket.removeAllListeners('end')
    socket.unshift(request)
    server.emit('connection', socket)
    socket.resume()
  }
  const onError = (error: ParserError, socket: Socket): void => {
    const connection = connections.get(socket)
    const silent = connection.hasPending && !connection.ownsError
    // Bytes after a request that is the last of its connection are ignored: its response closes the connection.
    if (error.code === 'HPE_CLOSED_CONNECTION' && connection.hasPending) return
    // The rest of the head was not read, and may be there.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.hasStoppedReading)
      return connection.postponeTimeout(headTimeout, () => onError(error, socket))
    // The timeout is that of the parser that was replaced.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.hasPending && connection.isRecovered) return
    const line =
      error.code === 'HPE_INVALID_URL'
        ? connection.recover(error.rawPacket, error.bytesParsed ?? 0)
        : undefined
    if (line !== undefined) {
      socket.removeAllListeners('data').removeAllListeners('end')
      socket.once('end', () => socket.destroy())
      void readLine(socket, line, maxHeaderSize).then((bytes) => parseAnew(socket, bytes))
    } else if (connection.isErrorBehindPending && !DISCONNECTED.has(error.code))
      connection.closeAfterPending()
    else if (silent || error.code === 'ECONNRESET' || connection.isErrorBehindResponse) socket.destroy()
    else sendErrorOnSocket(socket, toBadRequest(error.code))
  }
  server.on('clientError', onError)
  return server
}

/**
 * Whether the connection is closed after a request of HTTP/1.0: it did not ask for another one, or its framing is faulty (RFC 9112,
 * sections 6.1 and 9.3). The parser of Node takes `Proxy-Connection` for `Connection`, which a server in front of the proxy does not.
 */
const isLastOfHttp10 = ({ httpVersion, headers }: IncomingMessage, isChunked: boolean): boolean =>
  httpVersion === '1.0' &&
  (isChunked || !/(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i.test(headers.connection ?? ''))

/** Whether a request is for the proxy itself and is not forwarded. */
const isForProxyItself = ({ url }: IncomingMessage): boolean => url?.startsWith('/') === true

function toBadRequest(code: string | undefined): { status: number; error: string; message: string } {
  if (code === 'HPE_HEADER_OVERFLOW')
    return { status: 431, error: 'BAD_REQUEST', message: 'the request head is larger than maxHeaderSize' }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: 'BAD_REQUEST', message: 'the request head did not arrive in time' }
  return { status: 400, error: 'BAD_REQUEST', message: 'the request is not valid HTTP/1.1' }
}

/** Waits up to `timeout` milliseconds for requests and tunnels, and closes the others. */
export async function shutdown(
  proxyContext: ProxyHandlerContext,
  server: Server,
  timeout: number,
): Promise<void> {
  const { tunnels, clock, directAgent } = proxyContext
  proxyContext.isClosing = true
  const isIdle = new Promise<void>((resolve) => {
    proxyContext.onIdle = resolve
    if (proxyContext.connections === 0) resolve()
  })
  // The server of a worker does not listen.
  const stopped = server.listening ? new Promise<void>((resolve) => server.close(() => resolve())) : undefined
  server.closeIdleConnections()
  const timer = clock.setTimer(() => {
    tunnels.destroyAll()
    server.closeAllConnections()
  }, timeout)
  await Promise.all([stopped, isIdle, tunnels.whenEmpty()])
  clock.clearTimer(timer)
  await directAgent.destroy()
}
