import { Holdfast } from '@holdfast/runtime'
import type { Context } from '../context.js'
import { EXIT } from '../exit.js'
import type { Io } from '../io.js'
import { printJson } from '../output/print.js'
import { paint } from '../output/text.js'
import { calledHere, fileEnv, followedFile } from '../source/file.js'
import { startForward } from './forward.js'
import { followMembers } from './members.js'
import { type Running, startAll } from './running.js'

export interface ServeCommand {
  demo?: boolean
  host?: string
  port?: number
  proxyPort?: number
}

/** Resolves at the first Ctrl-C. A second one ends the process there and then. */
function stopped(io: Io, said: string): Promise<void> {
  return new Promise((resolve) => {
    const off = io.onInterrupt(() => {
      off()
      io.err(`\n${said}\n`)
      io.onInterrupt(() => process.exit(EXIT.interrupted))
      resolve()
    })
  })
}

function tell(context: Context, title: string, places: Record<string, string>): void {
  const { io, shared } = context
  if (shared.json) return printJson(context, places)
  const hue = paint(io.colours)
  io.out(`${hue('bold', title)}\n`)
  for (const [name, place] of Object.entries(places)) io.out(`  ${name.padEnd(11)}${place}\n`)
  io.out('Ctrl-C ends it.\n')
}

function placesOf({ server, proxy }: Running, config: string, store: string): Record<string, string> {
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

/** `serve`: the server, the forward proxy where the config has one, until Ctrl-C. */
export async function serve(context: Context, options: ServeCommand): Promise<number> {
  const { io, shared } = context
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
    tell(context, 'Holdfast, with traffic of its own', {
      ...placesOf(running, calledHere(context, demo.file), `sqlite:${calledHere(context, demo.store)}`),
      ...(shared.json ? {} : demo.about),
    })
    await stopped(io, 'ending: what runs is finished first')
    await demo.close()
    return EXIT.ok
  }
  const file = await followedFile(context)
  const hf = await Holdfast.open({ config: file, env: fileEnv(context) })
  const running = await startAll(hf, { ...asked, warn })
  const store = hf.config.current.store ?? 'sqlite:data/holdfast.db'
  tell(
    context,
    'Holdfast is serving',
    placesOf(running, calledHere(context, file), store.replace(/\/\/[^@/]*@/, '//')),
  )
  await stopped(io, 'ending: what runs is finished first')
  await running.close()
  return EXIT.ok
}

/** `proxy`: the forward proxy alone, until Ctrl-C. */
export async function proxy(
  context: Context,
  options: { host?: string; port?: number; pool?: string },
): Promise<number> {
  const { io } = context
  const file = await followedFile(context)
  const hf = await Holdfast.open({ config: file, env: fileEnv(context) })
  const followed = await followMembers(hf, (text) => io.err(`${text}\n`))
  try {
    const running = await startForward(hf, options)
    tell(context, 'The forward proxy is running', { proxy: running.url, config: calledHere(context, file) })
    await stopped(io, 'ending: what runs is finished first')
    await running.close()
  } finally {
    followed.close()
    await hf.close()
  }
  return EXIT.ok
}
