import { type Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'

/** What a command touches of the world it is run in. */
export interface CommandIo {
  /** Results: what may be piped on. */
  out(text: string | Uint8Array): void
  /** Everything that is said beside them. */
  err(text: string): void
  /** Whether results go to a terminal: tables are fitted to it. */
  readonly isTerminal: boolean
  /** Whether what is said goes to one: bars are drawn. */
  readonly canDrawProgress: boolean
  /** Whether somebody is there to be asked. */
  readonly canPrompt: boolean
  readonly hasColours: boolean
  /** How wide the terminal is now. */
  columns(): number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  /** Tells of Ctrl-C and of a request to end, until the function it returns is called. */
  onInterrupt(listener: () => void): () => void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The process this is. */
export function createProcessIo(): CommandIo {
  const { stdout, stderr, stdin, env } = process
  // Whoever reads may stop reading, as `head` does: there is nothing more to do then.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  const isTerminal = stdout.isTTY === true
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isTerminal,
    canDrawProgress: stderr.isTTY === true,
    canPrompt: isTerminal && stdin.isTTY === true,
    hasColours: isTerminal && !env.NO_COLOR && env.TERM !== 'dumb',
    columns: () => stdout.columns || 80,
    env,
    cwd: process.cwd(),
    clock: systemClock,
    onInterrupt(listener) {
      for (const signal of SIGNALS) process.on(signal, listener)
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener)
      }
    },
  }
}
