import { type Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'

/** The environment of a command: streams, variables, time and signals. */
export interface CommandIo {
  /** Writes results, which can be piped. */
  out(text: string | Uint8Array): void
  /** Writes messages that are not results. */
  err(text: string): void
  /** Whether results go to a terminal; tables are then fitted to its width. */
  readonly isTerminal: boolean
  /** Whether messages go to a terminal; progress bars are then drawn. */
  readonly canDrawProgress: boolean
  /** Whether the user can answer questions. */
  readonly canPrompt: boolean
  readonly hasColours: boolean
  /** The current width of the terminal. */
  columns(): number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  /** Calls the listener on SIGINT and SIGTERM, until the returned function is called. */
  onInterrupt(listener: () => void): () => void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The environment of this process. */
export function createProcessIo(): CommandIo {
  const { stdout, stderr, stdin, env } = process
  // The reader of a pipe can close it early, as `head` does.
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
