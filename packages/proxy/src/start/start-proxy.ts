import type { AddressInfo, Server } from 'node:net'
import type { Duration } from 'holdfast'
import { parseDuration } from 'holdfast/internal'
import { createHandlerContext } from '../server/context.js'
import { createHttpServer, shutdown } from '../server/http-server.js'
import { type ProxyOptions, type ProxySettings, parseProxyOptions } from '../server/options.js'
import { createStatus, type ProxyStatus } from '../server/status-page.js'
import { startWorkers } from '../workers/primary.js'

/** A running forward proxy. */
export interface ProxyServer {
  /** The address it listens on. */
  readonly host: string
  /** The port it listens on. */
  readonly port: number
  /** The URL for the configuration of clients: `http://host:port`. */
  readonly url: string
  /** The counts of the proxy and the status of its pool. */
  status(): ProxyStatus
  /**
   * Accepts no new connections, waits up to `timeout` (10 s) for requests and tunnels, and closes the others. A second call
   * waits for the first.
   */
  close(options?: { readonly timeout?: Duration }): Promise<void>
}

/**
 * Starts a forward proxy that sends each request through a member of a pool of proxies. Plain HTTP is retried by the policy;
 * CONNECT is tried with other members until a tunnel is open. Without a pool it connects to targets directly.
 *
 * With `workers` above 1, that many processes serve connections; policies, breakers, the pool and sessions stay in this process.
 *
 * Without users it listens only on loopback. Private targets are rejected unless `allowPrivateTargets` is set.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options; the error of `listen`, such as EADDRINUSE
 *
 * @example
 * ```ts
 * import { proxyPool, startProxy } from '@holdfast/proxy'
 *
 * const pool = proxyPool({ id: 'proxies', members: ['http://user:secret@p1.example:8080'] })
 * const proxy = await startProxy({ pool, port: 0 })
 * const page = await fetch(proxy.url)
 * page.status // => 200
 * proxy.status().pool?.members // => { available: 1 }
 * await proxy.close()
 * ```
 */
export async function startProxy(options: ProxyOptions = {}): Promise<ProxyServer> {
  const settings = parseProxyOptions(options)
  if (settings.workers > 1) {
    const workers = await startWorkers(settings)
    return createProxyServer(settings, workers.server, workers.status, (timeout) => workers.close(timeout))
  }
  const proxyContext = createHandlerContext(settings)
  const server = createHttpServer(proxyContext)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.port, settings.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return createProxyServer(
    settings,
    server,
    () => createStatus(proxyContext),
    (timeout) => shutdown(proxyContext, server, timeout),
  )
}

function createProxyServer(
  { host }: ProxySettings,
  server: Server,
  status: () => ProxyStatus,
  shutDown: (timeoutMs: number) => Promise<void>,
): ProxyServer {
  const { port } = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  return {
    host,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    status,
    close({ timeout = '10s' } = {}) {
      closed ??= shutDown(parseDuration(timeout))
      return closed
    },
  }
}
