import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../scripts/packages.mjs'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What a node says of itself. */
export interface Report {
  readonly state: string
  readonly epoch: number
  readonly fleetOpen: boolean
  readonly connected: boolean
  readonly calls: number
  readonly refused: number
  readonly strange: readonly string[]
  /** How many calls waited for anything but what they called. */
  readonly waited: number
  /** The longest that a call took beyond what it waited for itself. */
  readonly slowest: number
  /** When its breaker changed, where it tells of that. */
  readonly at: number
}

/** The sources in one file, so that nothing stale is tried. It lies where the packages it imports are found. */
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
  /** The last that it said on stderr. */
  private said = ''
  private readonly waiting = new Set<{
    ask: string
    resolve(report: Report): void
    reject(error: Error): void
  }>()

  private constructor(name: string, child: ChildProcess, admitted: (token: string) => void) {
    this.name = name
    this.child = child
    child.on('message', (report: Report & { ask: string; token?: string }) => {
      if (report.token !== undefined) admitted(report.token)
      for (const one of this.waiting)
        if (one.ask === report.ask && this.waiting.delete(one)) one.resolve(report)
    })
    child.stderr?.on('data', (text) => {
      this.said = (this.said + text).slice(-2000)
    })
    child.on('exit', () => {
      for (const { reject } of this.waiting) reject(new Error(`${name} ended: ${this.said}`))
    })
  }

  /**
   * Starts one, which pauses so many milliseconds between its calls. `admitted` hears of the leave that its tests are
   * admitted with: `epoch:number`.
   */
  static async start(
    code: string,
    url: string,
    name: string,
    share: string,
    admitted: (token: string) => void,
    pause = 5,
  ): Promise<NodeProcess> {
    const args = [code, url, name, share, String(pause)]
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const node = new NodeProcess(name, child, admitted)
    await node.answer('open')
    return node
  }

  /** Asks for a report, after doing what is asked. */
  ask(ask: 'report' | 'trip' | 'reset' | 'close', target?: 'well' | 'down'): Promise<Report> {
    const { child, name, said } = this
    if (!child.connected) return Promise.reject(new Error(`${name} has ended: ${said}`))
    const answer = this.answer(ask)
    child.send({ ask, target })
    return answer
  }

  /** Resolves when its breaker next gets there, with the time when it did, in epoch milliseconds. */
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

/** The most tests that were admitted in one epoch of the fleet. */
export function mostInOneEpoch(tokens: readonly string[]): number {
  const epochs = new Map<string, number>()
  for (const token of tokens) {
    const [epoch = ''] = token.split(':')
    epochs.set(epoch, (epochs.get(epoch) ?? 0) + 1)
  }
  return Math.max(0, ...epochs.values())
}
