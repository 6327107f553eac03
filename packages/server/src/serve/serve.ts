import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  createServer as createPlain,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Clock } from 'holdfast'
import { createOptionsError, createProblem } from 'holdfast/internal'
import type { HttpApp } from '../app/app.js'
import { type Built, buildApp } from '../app/build-app.js'
import { isLoopback } from '../auth/local-request.js'
import { listTokens } from '../auth/tokens.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'
import type { HoldfastLike } from '../runtime-api.js'
import { ConnectionTracker } from './connections.js'
import { enforceLimits, type ServerLimits, serverOptions } from './limits.js'
import {
  findHeadProblem,
  handleMalformed,
  rejectMalformed,
  UNKNOWN_EXPECTATION,
} from './malformed-requests.js'
import { startMemberProbes } from './member-probes.js'
import { parseServeOptions, type ServeOptions } from './options.js'
import { UnreadBodies } from './unread-bodies.js'

/** A running server. */
export interface RunningServer {
  /** The app that handles the requests. */
  readonly app: HttpApp
  /** The address of the server, such as `http://127.0.0.1:8000`. */
  readonly url: string
  /** The address at which the server listens. */
  readonly host: string
  /** The port at which the server listens. */
  readonly port: number
  /**
   * Accepts no new requests, ends streams, waits up to 10 s for requests in progress and ends the remaining ones with CANCELLED. A second call
   * waits for the first.
   */
  close(): Promise<void>
}

/** A running server that can be closed together with its runtime. */
interface StartedServer extends RunningServer {
  /** Closes the server and the runtime. Requests that wait for calls are answered when the runtime has ended the calls. */
  closeWith(runtime: () => Promise<unknown>): Promise<void>
}

const createStartError = (path: string, expected: string, got: string, cause?: unknown) =>
  Object.assign(
    createOptionsError('cannot start the server', [createProblem(path, 'conflict', expected, got)]),
    cause !== undefined && { cause },
  )

function readCertificateFile(file: string, key: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw createStartError(`tls.${key}`, 'a file that can be read', `${file} (${code})`, error)
  }
}

/** How long a close waits for requests in progress, for requests that only read, and for the last responses. */
const CLOSE_TIMEOUT_MS = 10_000
const READ_CLOSE_TIMEOUT_MS = 500
const FINAL_TIMEOUT_MS = 1000

/**
 * Starts a server for a runtime. On a loopback address, programs of this machine need no token as long as none exists;
 * on any other address the server does not start without a token.
 *
 * @throws INVALID_OPTIONS if options are not valid, a token is missing, a file cannot be read or the port is in use
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { serve } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { version: '1.2.0' } })
 * await serve(hf, { host: '0.0.0.0', port: 0 }) // throws INVALID_OPTIONS
 * const server = await serve(hf, { port: 0 })
 * const answer = await fetch(`${server.url}/health/live`)
 * await answer.json() // => { status: 'ok' }
 * await server.close()
 * await hf.close()
 * ```
 */
export async function serve(hf: HoldfastLike, options: ServeOptions = {}): Promise<RunningServer> {
  return startServer(hf, options)
}

/** Starts a server as {@link serve} does, for a caller that also closes the runtime. */
export async function startServer(hf: HoldfastLike, options: ServeOptions): Promise<StartedServer> {
  const settings = parseServeOptions(options, hf.config.current.server ?? {})
  const { port, tls, headerTimeout, requestTimeout, idleTimeout, maxConnections, ...appSettings } = settings
  const { host, clock } = appSettings
  const limits: ServerLimits = { headerTimeout, requestTimeout, idleTimeout, maxConnections }
  if (!isLoopback(host) && (await listTokens(hf)).length === 0)
    throw createStartError(
      'host',
      'a loopback address as long as no token exists',
      `${host}, which can be reached from other machines; ${
        hf.store.private ? MEMORY_STORE_MESSAGE : ''
      }create a token with holdfast token create NAME --role admin, or listen on 127.0.0.1`,
    )
  const secured =
    tls === undefined
      ? undefined
      : { cert: readCertificateFile(tls.cert, 'cert'), key: readCertificateFile(tls.key, 'key') }
  const built = buildApp(hf, appSettings)
  const { app } = built
  const listener = getRequestListener(app.fetch as never, { errorHandler: answerInvalidUrl })
  const unread = new UnreadBodies()
  const onRequest = (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    problem = findHeadProblem(incoming),
  ): void => {
    // RFC 9112, 6.1: the connection must be closed after such a message, because it can hide a second request.
    const isAmbiguous = incoming.httpVersion === '1.0' && 'transfer-encoding' in incoming.headers
    if (problem !== undefined || isAmbiguous) outgoing.shouldKeepAlive = false
    connections.handle(outgoing, () =>
      unread.handle(incoming, outgoing, () =>
        problem === undefined ? void listener(incoming, outgoing) : rejectMalformed(outgoing, problem),
      ),
    )
  }
  const server = createServer(secured, limits, (incoming, outgoing) => onRequest(incoming, outgoing))
  server.on('checkExpectation', (incoming: IncomingMessage, outgoing: ServerResponse) =>
    onRequest(incoming, outgoing, UNKNOWN_EXPECTATION),
  )
  const connections = new ConnectionTracker(server, secured !== undefined)
  enforceLimits(server, connections, limits, { clock, warn: (message) => built.logger.error({}, message) })
  handleMalformed(server, connections)
  try {
    await listen(server, port, host)
  } catch (error) {
    await built.close()
    throw error
  }
  const probes = startMemberProbes(hf)
  const { port: actualPort } = server.address() as AddressInfo
  const urlHost = host.includes(':') ? `[${host}]` : host
  let closing: Promise<void> | undefined
  const closeWith = (runtime?: () => Promise<unknown>): Promise<void> => {
    probes.close()
    closing ??= shutdown({ server, connections, built, clock, runtime })
    return closing
  }
  return {
    app,
    url: `${secured === undefined ? 'http' : 'https'}://${urlHost}:${actualPort}`,
    host,
    port: actualPort,
    close: () => closeWith(),
    closeWith,
  }
}

/** The hint for a store that keeps no tokens. */
const MEMORY_STORE_MESSAGE =
  'tokens are kept in the store, and store: memory is not shared with other processes: set store: sqlite:FILE or files:DIR, then '

/** Answers a request whose URL or Host header is not valid. */
const answerInvalidUrl = (): Response =>
  Response.json(
    {
      error: 'BAD_REQUEST',
      message: 'the URL or the Host header is not valid',
      details: [{ in: 'header', path: 'host', message: 'the URL or the Host header is not valid' }],
    },
    { status: 400, headers: { ...SECURITY_HEADERS, 'x-request-id': randomUUID(), connection: 'close' } },
  )

type RequestListener = NonNullable<Parameters<typeof createPlain>[1]>

function createServer(
  secured: { cert: Buffer; key: Buffer } | undefined,
  limits: ServerLimits,
  listener: RequestListener,
): Server {
  const options = serverOptions(limits)
  if (secured === undefined) return createPlain(options, listener)
  try {
    return createSecure({ ...options, ...secured }, listener) as unknown as Server
  } catch (error) {
    throw createStartError(
      'tls',
      'a certificate and its key in PEM',
      'files that are not or do not match',
      error,
    )
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? createStartError(
              'port',
              'a free port',
              `${port} on ${host}, which is already in use; choose another port, or 0 for a free one`,
              error,
            )
          : createStartError('host', 'an address to listen on', `${host}:${port}: ${error.message}`, error),
      )
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

/** Resolves when `ended` does, or after a timeout. */
async function withTimeout(clock: Clock, ended: Promise<unknown>, ms: number): Promise<void> {
  let timer: unknown
  const over = new Promise<void>((resolve) => {
    timer = clock.setTimer(resolve, ms)
  })
  await Promise.race([ended, over])
  clock.clearTimer(timer)
}

interface ShutdownParts {
  server: Server
  connections: ConnectionTracker
  built: Built
  clock: Clock
  runtime: (() => Promise<unknown>) | undefined
}

async function shutdown({ server, connections, built, clock, runtime }: ShutdownParts): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A job ends with its replays in progress, and only the runtime ends a replay whose handler does not return.
  const ended = Promise.all([closed, built.close()])
  try {
    connections.closeIdle()
    // Requests that read need the store, which closes with the runtime; requests that wait for calls are answered when the runtime has ended the calls.
    await withTimeout(clock, ended, runtime === undefined ? CLOSE_TIMEOUT_MS : READ_CLOSE_TIMEOUT_MS)
    await runtime?.()
    built.cancel()
    await withTimeout(clock, ended, FINAL_TIMEOUT_MS)
  } finally {
    // Connections that are still open would keep the close from ending.
    connections.destroyAll()
  }
  await closed
}
