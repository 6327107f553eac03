import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createPlain, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Clock, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { HttpApp } from '../app/app.js'
import { type Built, buildApp } from '../app/build-app.js'
import { isLoopback } from '../auth/local-request.js'
import { listTokens } from '../auth/tokens.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'
import type { AppOptions } from '../options.js'
import type { HoldfastLike } from '../runtime-api.js'
import { ConnectionTracker } from './connections.js'
import {
  enforceLimits,
  type LimitOptions,
  resolveLimits,
  type ServerLimits,
  serverOptions,
} from './limits.js'
import { findHeadProblem, handleMalformed, rejectMalformed } from './malformed-requests.js'
import { startMemberProbes } from './member-probes.js'
import { UnreadBodies } from './unread-bodies.js'

/** What a server is made of: what an app is, and where it listens. */
export interface ServeOptions extends AppOptions, LimitOptions {
  /** The port; 0 takes a free one. @defaultValue `server.port` of the file, else 8000 */
  port?: number | undefined
  /** The files of a certificate and its key: HTTPS. @defaultValue `server.tls` of the file */
  tls?: { cert: string; key: string } | undefined
}

/** A server that runs. */
export interface RunningServer {
  readonly app: HttpApp
  /** Where it is: `http://127.0.0.1:8000`. */
  readonly url: string
  readonly host: string
  readonly port: number
  /**
   * Takes no new requests, ends streams, waits for the rest (10 s) and answers what still runs with CANCELLED. A second call
   * waits for the first.
   */
  close(): Promise<void>
}

/** A server that can be closed together with its runtime. */
interface StartedServer extends RunningServer {
  /** Closes it, and the runtime with it: calls that requests wait for end as the runtime ends them, and are answered. */
  closeWith(runtime: () => Promise<unknown>): Promise<void>
}

const createOptionsError = (problem: string, cause?: unknown) =>
  new HoldfastError('INVALID_OPTIONS', `the server cannot be started: ${problem}`, {
    details: [problem],
    ...(cause === undefined ? {} : { cause }),
  })

function readCertificateFile(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw createOptionsError(
      `tls.${what}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      error,
    )
  }
}

/** How long a close waits for requests that are under way, for those that only read, and for the last answers to go out. */
const CLOSE_TIMEOUT_MS = 10_000
const READ_CLOSE_TIMEOUT_MS = 500
const FINAL_TIMEOUT_MS = 1000

/**
 * Starts a server for a runtime. On an address of this machine alone it is open to whoever is there while no token exists;
 * on any other it refuses to start without one.
 *
 * @throws INVALID_OPTIONS where options are wrong, a token is missing, a file cannot be read or the port is taken
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { serve } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { version: '1.1.0' } })
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

/** As {@link serve} does, for who owns the runtime too. */
export async function startServer(hf: HoldfastLike, options: ServeOptions): Promise<StartedServer> {
  const own = hf.config.current.server ?? {}
  const { port = own.port ?? 8000, tls = own.tls, host = own.host ?? '127.0.0.1', ...others } = options
  const { headerTimeout, requestTimeout, idleTimeout, maxConnections, ...rest } = others
  const limits = resolveLimits({ headerTimeout, requestTimeout, idleTimeout, maxConnections }, own)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw createOptionsError('port: expected a whole number from 0 to 65535')
  if (!isLoopback(host) && (await listTokens(hf)).length === 0)
    throw createOptionsError(
      `host: ${host} can be reached from other machines, and there is no token; ${
        hf.store.private ? MEMORY_STORE_MESSAGE : ''
      }make one with holdfast token create NAME --role admin, or listen on 127.0.0.1`,
    )
  const secured =
    tls === undefined
      ? undefined
      : { cert: readCertificateFile(tls.cert ?? '', 'cert'), key: readCertificateFile(tls.key ?? '', 'key') }
  const built = buildApp(hf, { ...rest, host })
  const { app } = built
  const listener = getRequestListener(app.fetch as never, { errorHandler: unreadable })
  const unread = new UnreadBodies()
  const server = createServer(secured, limits, (incoming, outgoing) => {
    connections.onRequest(outgoing)
    // RFC 9112, 6.1: such a message may hold another one.
    if (incoming.httpVersion === '1.0' && 'transfer-encoding' in incoming.headers)
      outgoing.shouldKeepAlive = false
    const problem = findHeadProblem(incoming)
    unread.handle(incoming, outgoing, () =>
      problem === undefined ? void listener(incoming, outgoing) : rejectMalformed(outgoing, problem),
    )
  })
  const connections = new ConnectionTracker(server, secured !== undefined)
  const { clock = systemClock } = options
  enforceLimits(server, connections, limits, { clock, warn: (message) => built.logger.error({}, message) })
  handleMalformed(server)
  try {
    await listen(server, port, host)
  } catch (error) {
    await built.close()
    throw error
  }
  const probes = startMemberProbes(hf)
  const { port: taken } = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host
  let closing: Promise<void> | undefined
  const end = (runtime?: () => Promise<unknown>): Promise<void> => {
    probes.close()
    closing ??= shutdown({ server, connections, built, clock, runtime })
    return closing
  }
  return {
    app,
    url: `${secured === undefined ? 'http' : 'https'}://${shown}:${taken}`,
    host,
    port: taken,
    close: () => end(),
    closeWith: end,
  }
}

/** Where tokens are, said where there is nowhere to keep one. */
const MEMORY_STORE_MESSAGE =
  'tokens are kept in the store, and store: memory keeps none for another process: set store: sqlite:FILE or files:DIR, then '

/** Answers a request whose address or Host cannot be read. */
const unreadable = (): Response =>
  Response.json(
    {
      error: 'BAD_REQUEST',
      message: 'the address or the Host header cannot be read',
      details: [{ in: 'header', path: 'host', message: 'cannot be read, or the address cannot' }],
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
    throw createOptionsError('tls: the certificate and the key do not fit together, or are none', error)
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? createOptionsError(`port: ${port} on ${host} is taken; choose another, or 0 for any`, error)
          : createOptionsError(`${host}:${port}: ${error.message}`, error),
      )
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

/** Resolves when `ended` does, or when its time is over. */
async function withTimeout(clock: Clock, ended: Promise<void>, ms: number): Promise<void> {
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
  try {
    await built.close()
    connections.closeIdle()
    // Who reads needs the store, which ends with the runtime; whose call runs on is answered when that has ended it.
    await withTimeout(clock, closed, runtime === undefined ? CLOSE_TIMEOUT_MS : READ_CLOSE_TIMEOUT_MS)
    await runtime?.()
    built.cancel()
    await withTimeout(clock, closed, FINAL_TIMEOUT_MS)
  } finally {
    // Who does not end by then is ended: a close must come to an end.
    server.closeAllConnections()
  }
  await closed
}
