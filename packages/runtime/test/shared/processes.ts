import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** What a node says of itself. */
export interface Report {
  readonly state: string
  readonly epoch: number
  readonly fleetOpen: boolean
  readonly connected: boolean
  /** The leave that its tests were admitted with: `epoch:number`. */
  readonly tokens: readonly string[]
  readonly calls: number
  readonly refused: number
  readonly strange: readonly string[]
  /** The longest that a call took beyond what it waited for itself. */
  readonly slowest: number
}

/** The sources in one file, so that nothing stale is tried. It lies where the packages it imports are found. */
export async function bundle(): Promise<{ url: string; remove(): void }> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.cache/fleet-'))
  const core = (name: string) => join(ROOT, 'packages/core/src', name)
  await build({
    entryPoints: [join(ROOT, 'packages/runtime/src/holdfast.ts')],
    outfile: join(folder, 'holdfast.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql', 'zod', 'yaml', 'ioredis', 'pg', '@datadog/sketches-js'],
    alias: { holdfast: core('index.ts'), 'holdfast/engine': core('engine/index.ts') },
    logLevel: 'silent',
  })
  return {
    url: pathToFileURL(join(folder, 'holdfast.mjs')).href,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A node that is a process. */
export class NodeProcess {
  readonly name: string
  private readonly child: ChildProcess

  private constructor(name: string, child: ChildProcess) {
    this.name = name
    this.child = child
  }

  static async start(code: string, url: string, name: string, share: string): Promise<NodeProcess> {
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)), [code, url, name, share], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const node = new NodeProcess(name, child)
    await node.answer('open')
    return node
  }

  /** Asks for a report, after doing what is asked. */
  ask(ask: 'report' | 'trip' | 'reset' | 'close', target?: 'well' | 'down'): Promise<Report> {
    const answer = this.answer(ask)
    this.child.send({ ask, target })
    return answer
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  async kill(): Promise<void> {
    const { child } = this
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  private answer(ask: string): Promise<Report> {
    const { child } = this
    return new Promise((resolve, reject) => {
      const heard = (report: Report & { ask: string }) => {
        if (report.ask !== ask) return
        child.off('message', heard)
        resolve(report)
      }
      child.on('message', heard)
      child.once('exit', () => reject(new Error(`${this.name} ended`)))
    })
  }
}
