import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The command as it is shipped. */
export const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

if (!existsSync(COMMAND)) throw new Error('the command is tested as it is shipped: run npm run build first')

/** A command in a process of its own. */
export class Running {
  readonly child: ChildProcess
  out = ''
  err = ''
  /** Resolves with what it ended with. */
  readonly ended: Promise<number | NodeJS.Signals>
  private readonly waiting = new Set<() => void>()
  /** Whether it has ended and its output is complete. */
  private hasEnded = false

  constructor(argv: readonly string[], cwd: string, env: Record<string, string> = {}) {
    const { HOLDFAST_URL: _, HOLDFAST_TOKEN: __, ...inherited } = process.env
    this.child = spawn(process.execPath, [COMMAND, ...argv], {
      cwd,
      env: { ...inherited, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const hear = (place: 'out' | 'err') => (chunk: Buffer) => {
      this[place] += chunk.toString()
      for (const look of this.waiting) look()
    }
    this.child.stdout?.on('data', hear('out'))
    this.child.stderr?.on('data', hear('err'))
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        this.hasEnded = true
        resolve(code ?? (signal as NodeJS.Signals))
        for (const look of this.waiting) look()
      })
    })
  }

  /** Resolves once what it printed matches; rejects where it ended without. */
  saying(what: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = what.exec(this.out) ?? what.exec(this.err)
        if (found === null && !this.hasEnded) return
        this.waiting.delete(look)
        if (found !== null) resolve(found)
        else reject(new Error(`it ended without saying ${what}:\n${this.out}\n${this.err}`))
      }
      this.waiting.add(look)
      look()
    })
  }

  /** As Ctrl-C does. */
  interrupt(): void {
    this.child.kill('SIGINT')
  }
}
