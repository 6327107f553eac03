import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases, sourceLoaders } from '../../../scripts/packages.mjs'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The report of a node process. */
export interface Report {
  readonly state: string
  readonly epoch: number
  readonly fleetOpen: boolean
  readonly connected: boolean
  readonly calls: number
  readonly rejected: number
  /** Errors that neither the target nor the breaker caused. */
  readonly unexpected: readonly string[]
  /** How many calls waited for anything except their own function. */
  readonly waited: number
  /** The longest duration of a call without that of its own function. */
  readonly slowest: number
  /** When its breaker changed, in a report about that. */
  readonly at: number
}

/** Bundles the sources, so that no outdated build is tested. The file is in a folder from which its packages are found. */
export async function bundle(): Promise<{ url: string; remove(): void }> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.cache/fleet-'))
  await build({
    entryPoints: [join(ROOT, 'packages/runtime/src/holdfast/holdfast.ts')],
    outfile: join(folder, 'holdfast.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql', 'zod', 'yaml', 'ioredis', 'pg', '@datadog/sketches-js'],
    alias: sourceAliases,
    loader: sourceLoaders,
    logLevel: 'silent',
  })
  return {
    url: pathToFileURL(join(folder, 'holdfast.mjs')).href,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A node that runs as a process. */
export class NodeProcess {
  readonly name: string
  private readonly child: ChildProcess
  /** The last output on stderr. */
  private errorOutput = ''
  private readonly waiting = new Set<{
    ask: string
    resolve(report: Report): void
    reject(error: Error): void
  }>()

  private constructor(name: string, child: ChildProcess, onProbe: (token: string) => void) {
    this.name = name
    this.child = child
    child.on('message', (report: Report & { ask: string; token?: string }) => {
      if (report.token !== undefined) onProbe(report.token)
      for (const one of this.waiting)
        if (one.ask === report.ask && this.waiting.delete(one)) one.resolve(report)
    })
    child.stderr?.on('data', (text) => {
      this.errorOutput = (this.errorOutput + text).slice(-2000)
    })
    child.on('exit', () => {
      for (const { reject } of this.waiting) reject(new Error(`${name} ended: ${this.errorOutput}`))
    })
  }

  /**
   * Starts a node that pauses for `pause` milliseconds between its calls. `onProbe` receives the token of each probe permit,
   * `EPOCH:NUMBER`.
   */
  static async start(
    code: string,
    url: string,
    name: string,
    share: string,
    onProbe: (token: string) => void,
    pause = 5,
  ): Promise<NodeProcess> {
    const args = [code, url, name, share, String(pause)]
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const node = new NodeProcess(name, child, onProbe)
    await node.answer('open')
    return node
  }

  /** Sends a command to the process and returns its report afterwards. */
  ask(ask: 'report' | 'trip' | 'reset' | 'close', target?: 'up' | 'down'): Promise<Report> {
    const { child, name, errorOutput } = this
    if (!child.connected) return Promise.reject(new Error(`${name} has ended: ${errorOutput}`))
    const answer = this.answer(ask)
    child.send({ ask, target })
    return answer
  }

  /** Resolves at the next change of its breaker to this state, with the time of the change in epoch milliseconds. */
  async becomes(state: 'open' | 'closed'): Promise<number> {
    return (await this.answer(state)).at
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
    return new Promise((resolve, reject) => {
      this.waiting.add({ ask, resolve, reject })
    })
  }
}

/** The largest number of probes that were granted in one epoch of the fleet. */
export function maxProbesPerEpoch(tokens: readonly string[]): number {
  const epochs = new Map<string, number>()
  for (const token of tokens) {
    const [epoch = ''] = token.split(':')
    epochs.set(epoch, (epochs.get(epoch) ?? 0) + 1)
  }
  return Math.max(0, ...epochs.values())
}
