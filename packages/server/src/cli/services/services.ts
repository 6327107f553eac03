import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProxyServer } from '@holdfast/proxy'
import type { Holdfast } from '@holdfast/runtime'
import { type RunningServer, startServer } from '../../serve/serve.js'
import { openTelemetry } from '../../telemetry/open.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { type ForwardOptions, startForwardProxy } from './forward-proxy.js'
import { watchMemberFiles } from './member-files.js'

export interface ServicesOptions {
  host?: string
  port?: number
  proxy?: ForwardOptions
  /** Takes the next port where one is taken. */
  nextPort?: boolean
  warn(text: string): void
}

/** A server, and a forward proxy where the config has one. */
export interface RunningServices {
  readonly server: RunningServer
  readonly proxy: ProxyServer | undefined
  /** Ends both and the runtime: takes nothing new, waits for what runs, writes everything down. */
  close(): Promise<void>
}

/** How long the proxy waits for what runs: a little longer than the runtime, which ends calls so that they are answered. */
const PROXY_CLOSE_TIMEOUT = '12s'

/** How many ports after a taken one are tried. */
const MAX_PORT_ATTEMPTS = 20

const isPortTaken = (error: unknown): boolean => {
  const { code, cause } = Object(error) as { code?: string; cause?: unknown }
  return code === 'EADDRINUSE' || (cause !== undefined && isPortTaken(cause))
}

/** Starts something at a port, or at one of the next where it may. */
async function startAtPort<T>(
  what: string,
  port: number,
  { nextPort, warn }: Pick<ServicesOptions, 'nextPort' | 'warn'>,
  option: string,
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let tried = port; ; tried++)
    try {
      return await start(tried)
    } catch (error) {
      if (!isPortTaken(error)) throw error
      if (!nextPort || port === 0 || tried >= port + MAX_PORT_ATTEMPTS)
        throw new CommandFailure(EXIT_CODES.failure, `the port ${tried} of the ${what} is taken`, {
          code: 'PORT_TAKEN',
          hint: `end what has it, or choose another with ${option} PORT; 0 takes any that is free`,
        })
      warn(`the port ${tried} of the ${what} is taken; trying ${tried + 1}`)
    }
}

/** The dashboard as it is built, wherever among the built files this code ends up; undefined where it is not built. */
function findBuiltDashboard(): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, 'package.json')) && dirname(dir) !== dir) dir = dirname(dir)
  const built = join(dir, 'dist', 'dashboard')
  return existsSync(built) ? built : undefined
}

/** Starts everything that a config says runs. Where something cannot be started, what was is ended. */
export async function startAll(hf: Holdfast, options: ServicesOptions): Promise<RunningServices> {
  const { warn, host } = options
  const ends: (() => unknown)[] = [() => hf.close()]
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end()
  }
  try {
    ends.push(await openTelemetry(hf))
    const followed = await watchMemberFiles(hf, warn)
    ends.push(() => followed.close())
    const said = hf.config.current.server ?? {}
    const server = await startAtPort('server', options.port ?? said.port ?? 8000, options, '--port', (port) =>
      startServer(hf, { port, dashboard: findBuiltDashboard(), ...(host === undefined ? {} : { host }) }),
    )
    let proxy: ProxyServer | undefined
    ends.push(() =>
      Promise.all([server.closeWith(() => hf.close()), proxy?.close({ timeout: PROXY_CLOSE_TIMEOUT })]),
    )
    const forward = hf.config.current.proxy
    if (forward !== undefined) {
      const wanted = options.proxy?.port ?? forward.port ?? 8080
      proxy = await startAtPort('proxy', wanted, options, '--proxy-port', (port) =>
        startForwardProxy(hf, { ...options.proxy, port }),
      )
    }
    return { server, proxy, close }
  } catch (error) {
    await close()
    throw error
  }
}
