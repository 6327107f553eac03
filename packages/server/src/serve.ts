import { readFileSync } from 'node:fs'
import { createServer as createPlain, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { HoldfastError } from 'holdfast'
import { isLoopback } from './access/machine.js'
import { listTokens } from './access/tokens.js'
import { buildApp } from './app.js'
import type { HoldfastLike } from './hf.js'
import type { AppOptions } from './options.js'
import { startProbes } from './probes.js'
import type { App } from './routes/operation.js'

/** What a server is made of: what an app is, and where it listens. */
export interface ServeOptions extends AppOptions {
  /** The port; 0 takes a free one. @defaultValue `server.port` of the file, else 8000 */
  port?: number | undefined
  /** The files of a certificate and its key: HTTPS. @defaultValue `server.tls` of the file */
  tls?: { cert: string; key: string } | undefined
}

/** A server that runs. */
export interface RunningServer {
  readonly app: App
  /** Where it is: `http://127.0.0.1:8000`. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** Takes no new requests, ends streams, waits for the rest. A second call waits for the first. */
  close(): Promise<void>
}

const refusal = (problem: string, cause?: unknown) =>
  new HoldfastError('INVALID_OPTIONS', `the server cannot be started: ${problem}`, {
    details: [problem],
    ...(cause === undefined ? {} : { cause }),
  })

function read(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw refusal(`tls.${what}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`, error)
  }
}

/** How long a close waits for requests that are under way. */
const PATIENCE = 5000

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
  const own = hf.config.current.server ?? {}
  const { port = own.port ?? 8000, tls = own.tls, host = own.host ?? '127.0.0.1', ...rest } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw refusal('port: takes a whole number from 0 to 65535')
  if (!isLoopback(host) && (await listTokens(hf)).length === 0)
    throw refusal(
      `host: ${host} can be reached from other machines, and there is no token; make one with ` +
        'holdfast token create NAME --role admin, or listen on 127.0.0.1',
    )
  const secured =
    tls === undefined ? undefined : { cert: read(tls.cert ?? '', 'cert'), key: read(tls.key ?? '', 'key') }
  const { app, close } = buildApp(hf, { ...rest, host })
  const listener = getRequestListener(app.fetch as never, { errorHandler: () => MALFORMED.clone() })
  const server = makeServer(secured, (incoming, outgoing) => void listener(incoming, outgoing))
  try {
    await listening(server, port, host)
  } catch (error) {
    await close()
    throw error
  }
  const probes = startProbes(hf)
  const { port: taken } = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host
  let closing: Promise<void> | undefined
  return {
    app,
    url: `${secured === undefined ? 'http' : 'https'}://${shown}:${taken}`,
    host,
    port: taken,
    close() {
      probes.close()
      closing ??= shut(server, close)
      return closing
    },
  }
}

/** A request that cannot be read, by its address or its Host. */
const MALFORMED = Response.json(
  {
    error: 'BAD_REQUEST',
    message: 'the address or the Host header cannot be read',
    details: [{ in: 'header', path: 'host', message: 'cannot be read, or the address cannot' }],
  },
  { status: 400 },
)

type Listener = NonNullable<Parameters<typeof createPlain>[1]>

function makeServer(secured: { cert: Buffer; key: Buffer } | undefined, listener: Listener): Server {
  if (secured === undefined) return createPlain(listener)
  try {
    return createSecure(secured, listener) as unknown as Server
  } catch (error) {
    throw refusal('tls: the certificate and the key do not fit together, or are none', error)
  }
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? refusal(`port: ${port} on ${host} is taken; choose another, or 0 for any`, error)
          : refusal(`${host}:${port}: ${error.message}`, error),
      )
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

async function shut(server: Server, close: () => Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  await close()
  server.closeIdleConnections()
  // Who does not end by then is ended: a close must come to an end.
  // oxlint-disable-next-line holdfast/clock -- real connections are waited for, in real time
  const limit = setTimeout(() => server.closeAllConnections(), PATIENCE)
  await closed
  clearTimeout(limit)
}
