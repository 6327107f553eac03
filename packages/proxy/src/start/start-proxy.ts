import type { AddressInfo, Server } from 'node:net'
import type { Duration } from 'holdfast'
import { parseDuration } from 'holdfast/internal'
import { createHouse } from '../server/context.js'
import { createHttpServer, shutdown } from '../server/http-server.js'
import { type ProxyOptions, type ProxySettings, parseProxyOptions } from '../server/options.js'
import { createStatus, type ProxyStatus } from '../server/status-page.js'
import { startWorkers } from '../workers/primary.js'

/** A forward proxy that runs. */
export interface ProxyServer {
  /** Where it listens. */
  readonly host: string
  /** The port it listens on. */
  readonly port: number
  /** What a client is configured with: `http://host:port`. */
  readonly url: string
  /** How much it has done, and how its pool stands. */
  status(): ProxyStatus
  /**
   * Takes no more connections, lets requests and tunnels end for as long as `timeout` (10 s), and ends the rest. A second
   * call waits for the first.
   */
  close(options?: { readonly timeout?: Duration }): Promise<void>
}

/**
 * Starts a forward proxy that sends each request through a member of a pool of proxies. Plain HTTP is retried by the policy;
 * CONNECT goes on to other members until a tunnel stands. Without a pool it connects to targets itself.
 *
 * With `workers` above 1 that many processes serve connections; policies, breakers, the pool and sessions stay in this one.
 *
 * It listens on loopback unless there are users, and does not go to private targets unless it may.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options; the error of `listen`, such as EADDRINUSE
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
    return runningProxy(settings, workers.server, workers.status, (timeout) => workers.close(timeout))
  }
  const proxyContext = createHouse(settings)
  const server = createHttpServer(proxyContext)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.port, settings.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return runningProxy(
    settings,
    server,
    () => createStatus(proxyContext),
    (timeout) => shutdown(proxyContext, server, timeout),
  )
}

function runningProxy(
  { host }: ProxySettings,
  server: Server,
  status: () => ProxyStatus,
  end: (timeoutMs: number) => Promise<void>,
): ProxyServer {
  const { port } = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  return {
    host,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    status,
    close({ timeout = '10s' } = {}) {
      closed ??= end(parseDuration(timeout))
      return closed
    },
  }
}
