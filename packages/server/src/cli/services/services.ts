import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProxyServer } from '@holdfast/proxy'
import { PROXY_DEFAULTS } from '@holdfast/proxy/internal'
import { type Holdfast, openTelemetry } from '@holdfast/runtime'
import { DEFAULT_PORT } from '../../defaults.js'
import { type RunningServer, startServer } from '../../serve/serve.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { type ForwardOptions, startForwardProxy } from './forward-proxy.js'
import { watchMemberFiles } from './member-files.js'

export interface ServicesOptions {
  host?: string
  port?: number
  proxy?: ForwardOptions
  /** Whether the next port is tried where one is in use. */
  canUseNextPort?: boolean
  warn(text: string): void
}

/** A running server, and a forward proxy if the config has one. */
export interface RunningServices {
  readonly server: RunningServer
  readonly proxy: ProxyServer | undefined
  /** Closes the server, the proxy and the runtime, after requests and calls in progress have ended. */
  close(): Promise<void>
}

/** How long the proxy waits for requests in progress: longer than the runtime, which ends calls so that they are answered. */
const PROXY_CLOSE_TIMEOUT = '12s'

/** How many further ports are tried. */
const MAX_PORT_ATTEMPTS = 20

const isPortInUse = (error: unknown): boolean => {
  const { code, cause } = Object(error) as { code?: string; cause?: unknown }
  return code === 'EADDRINUSE' || (cause !== undefined && isPortInUse(cause))
}

/** Starts a service at a port, or at one of the next ports where that is allowed. */
async function startAtPort<T>(
  service: string,
  port: number,
  { canUseNextPort, warn }: Pick<ServicesOptions, 'canUseNextPort' | 'warn'>,
  option: string,
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let candidate = port; ; candidate++)
    try {
      return await start(candidate)
    } catch (error) {
      if (!isPortInUse(error)) throw error
      if (!canUseNextPort || port === 0 || candidate >= port + MAX_PORT_ATTEMPTS)
        throw new CommandFailure(
          EXIT_CODES.failure,
          `port ${candidate} of the ${service} is already in use`,
          {
            code: 'PORT_TAKEN',
            hint: `stop the process that uses it, or choose another with ${option} PORT; 0 selects a free port`,
          },
        )
      warn(`port ${candidate} of the ${service} is already in use; trying ${candidate + 1}`)
    }
}

/** The folder of the built dashboard. It is found from the package folder, because bundling moves this code; undefined where it is not built. */
function findBuiltDashboard(): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json')) && dirname(dir) !== dir) dir = dirname(dir)
  const built = join(dir, 'dist', 'dashboard')
  return existsSync(built) ? built : undefined
}

/** Starts all services of a config. If one cannot be started, the others are closed. */
export async function startAll(hf: Holdfast, options: ServicesOptions): Promise<RunningServices> {
  const { warn, host } = options
  const closers: (() => unknown)[] = [() => hf.close()]
  const close = async (): Promise<void> => {
    for (const closeNext of closers.splice(0).toReversed()) await closeNext()
  }
  try {
    closers.push(await openTelemetry(hf))
    const memberFiles = await watchMemberFiles(hf, warn)
    closers.push(() => memberFiles.close())
    const fileOptions = hf.config.current.server ?? {}
    const server = await startAtPort(
      'server',
      options.port ?? fileOptions.port ?? DEFAULT_PORT,
      options,
      '--port',
      (port) =>
        startServer(hf, { port, dashboard: findBuiltDashboard(), ...(host === undefined ? {} : { host }) }),
    )
    let proxy: ProxyServer | undefined
    closers.push(() =>
      Promise.all([server.closeWith(() => hf.close()), proxy?.close({ timeout: PROXY_CLOSE_TIMEOUT })]),
    )
    const forward = hf.config.current.proxy
    if (forward !== undefined) {
      const proxyPort = options.proxy?.port ?? forward.port ?? PROXY_DEFAULTS.port
      proxy = await startAtPort('proxy', proxyPort, options, '--proxy-port', (port) =>
        startForwardProxy(hf, { ...options.proxy, port }),
      )
    }
    return { server, proxy, close }
  } catch (error) {
    await close()
    throw error
  }
}
