import { Holdfast } from '@holdfast/runtime'
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

/** Resolves at the first Ctrl-C. A second one ends the process there and then. */
function waitForInterrupt(io: CommandIo, said: string): Promise<void> {
  return new Promise((resolve) => {
    const off = io.onInterrupt(() => {
      off()
      io.err(`\n${said}\n`)
      io.onInterrupt(() => process.exit(EXIT_CODES.interrupted))
      resolve()
    })
  })
}

function printAddresses(context: CommandContext, title: string, places: Record<string, string>): void {
  const { io, globalOptions } = context
  if (globalOptions.json) return printJson(context, places)
  const hue = createPainter(io.hasColours)
  io.out(`${hue('bold', title)}\n`)
  for (const [name, place] of Object.entries(places)) io.out(`  ${name.padEnd(11)}${place}\n`)
  io.out('Ctrl-C ends it.\n')
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

/** `runServe`: the server, the forward proxy where the config has one, until Ctrl-C. */
export async function runServe(context: CommandContext, options: ServeCommandOptions): Promise<number> {
  const { io, globalOptions } = context
  const warn = (text: string): void => io.err(`${text}\n`)
  const { host, port, proxyPort } = options
  const asked = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(proxyPort === undefined ? {} : { proxy: { port: proxyPort } }),
  }
  if (options.demo) {
    const { startDemo } = await import('../../demo/demo.js')
    const demo = await startDemo({ dir: io.cwd, warn, ...asked })
    const { running } = demo
    printAddresses(context, 'Holdfast, with traffic of its own', {
      ...addressesOf(running, displayPath(context, demo.file), `sqlite:${displayPath(context, demo.store)}`),
      ...(globalOptions.json ? {} : demo.about),
    })
    await waitForInterrupt(io, 'ending: what runs is finished first')
    await demo.close()
    return EXIT_CODES.ok
  }
  const file = await watchedFile(context)
  const hf = await Holdfast.open({ config: file, env: configEnv(context) })
  const running = await startAll(hf, { ...asked, warn })
  const store = hf.config.current.store ?? 'sqlite:data/holdfast.db'
  printAddresses(
    context,
    'Holdfast is serving',
    addressesOf(running, displayPath(context, file), store.replace(/\/\/[^@/]*@/, '//')),
  )
  await waitForInterrupt(io, 'ending: what runs is finished first')
  await running.close()
  return EXIT_CODES.ok
}

/** `runProxy`: the forward proxy alone, until Ctrl-C. */
export async function runProxy(
  context: CommandContext,
  options: { host?: string; port?: number; pool?: string },
): Promise<number> {
  const { io } = context
  const file = await watchedFile(context)
  const hf = await Holdfast.open({ config: file, env: configEnv(context) })
  const followed = await watchMemberFiles(hf, (text) => io.err(`${text}\n`))
  try {
    const running = await startForwardProxy(hf, options)
    printAddresses(context, 'The forward proxy is running', {
      proxy: running.url,
      config: displayPath(context, file),
    })
    await waitForInterrupt(io, 'ending: what runs is finished first')
    await running.close()
  } finally {
    followed.close()
    await hf.close()
  }
  return EXIT_CODES.ok
}
