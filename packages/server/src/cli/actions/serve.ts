import { Holdfast } from '@holdfast/runtime'
import { redactConfig } from '@holdfast/runtime/config'
import { DEFAULT_STORE } from '../../defaults.js'
import { configEnv, displayPath, watchedFile } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'
import { EXIT_CODES } from '../context/exit.js'
import type { CommandIo } from '../context/io.js'
import { printJson } from '../output/print.js'
import { createPainter } from '../output/text.js'
import { startForwardProxy } from '../services/forward-proxy.js'
import { watchMemberFiles } from '../services/member-files.js'
import { type RunningServices, startAll } from '../services/services.js'

export interface ServeCommandOptions {
  demo?: boolean
  host?: string
  port?: number
  proxyPort?: number
}

/** Resolves at the first Ctrl-C. A second one ends the process at once. */
function waitForInterrupt(io: CommandIo): Promise<void> {
  return new Promise((resolve) => {
    const off = io.onInterrupt(() => {
      off()
      io.err('\nshutting down: requests in progress are completed first\n')
      io.onInterrupt(() => process.exit(EXIT_CODES.interrupted))
      resolve()
    })
  })
}

function printAddresses(context: CommandContext, title: string, addresses: Record<string, string>): void {
  const { io, globalOptions } = context
  if (globalOptions.json) return printJson(context, addresses)
  const paint = createPainter(io.hasColours)
  io.out(`${paint('bold', title)}\n`)
  for (const [name, address] of Object.entries(addresses)) io.out(`  ${name.padEnd(11)}${address}\n`)
  io.out('Press Ctrl-C to stop.\n')
}

function addressesOf(
  { server, proxy }: RunningServices,
  config: string,
  store: string,
): Record<string, string> {
  return {
    dashboard: `${server.url}/`,
    api: `${server.url}/api/v1`,
    docs: `${server.url}/docs`,
    metrics: `${server.url}/metrics`,
    ...(proxy === undefined ? {} : { proxy: proxy.url }),
    config,
    store,
  }
}

/** `serve`: runs the server, and the forward proxy if the config has one, until Ctrl-C. */
export async function runServe(context: CommandContext, options: ServeCommandOptions): Promise<number> {
  const { io, globalOptions } = context
  const warn = (text: string): void => io.err(`${text}\n`)
  const { host, port, proxyPort } = options
  const serviceOptions = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(proxyPort === undefined ? {} : { proxy: { port: proxyPort } }),
  }
  if (options.demo) {
    const { startDemo } = await import('../../demo/demo.js')
    const demo = await startDemo({ dir: io.cwd, warn, ...serviceOptions })
    const { running } = demo
    printAddresses(context, 'Holdfast demo', {
      ...addressesOf(running, displayPath(context, demo.file), `sqlite:${displayPath(context, demo.store)}`),
      ...(globalOptions.json ? {} : demo.descriptions),
    })
    await waitForInterrupt(io)
    await demo.close()
    return EXIT_CODES.ok
  }
  const file = await watchedFile(context)
  const hf = await Holdfast.open({ config: file, env: configEnv(context) })
  const running = await startAll(hf, { ...serviceOptions, warn })
  const { store = DEFAULT_STORE } = redactConfig({ store: hf.config.current.store }) as { store?: string }
  printAddresses(context, 'Holdfast is running', addressesOf(running, displayPath(context, file), store))
  await waitForInterrupt(io)
  await running.close()
  return EXIT_CODES.ok
}

/** `proxy`: runs only the forward proxy, until Ctrl-C. */
export async function runProxy(
  context: CommandContext,
  options: { host?: string; port?: number; pool?: string },
): Promise<number> {
  const { io } = context
  const file = await watchedFile(context)
  const hf = await Holdfast.open({ config: file, env: configEnv(context) })
  const memberFiles = await watchMemberFiles(hf, (text) => io.err(`${text}\n`))
  try {
    const proxy = await startForwardProxy(hf, options)
    printAddresses(context, 'The forward proxy is running', {
      proxy: proxy.url,
      config: displayPath(context, file),
    })
    await waitForInterrupt(io)
    await proxy.close()
  } finally {
    memberFiles.close()
    await hf.close()
  }
  return EXIT_CODES.ok
}
