/** The exit codes of commands. The meaning of a code never changes. */
export const EXIT_CODES = {
  ok: 0,
  /** The command ran and failed. */
  failure: 1,
  /** The arguments are not valid. */
  usage: 2,
  /** The config file is not valid. */
  config: 3,
  /** The server or the store cannot be reached. */
  unreachable: 4,
  /** The token is missing, unknown, or has too low a role. */
  denied: 5,
  /** Ctrl-C interrupted the command. */
  interrupted: 130,
} as const

/** The failure of a command: a message, a hint what to do, and the exit code. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exit: number
  /** What the user can do about it. */
  readonly hint: string | undefined
  /** A stable error code, for `--json`. */
  readonly code: string
  readonly details: readonly unknown[] | undefined

  constructor(
    exit: number,
    message: string,
    { hint, code = 'FAILED', details }: { hint?: string; code?: string; details?: readonly unknown[] } = {},
  ) {
    super(message)
    this.exit = exit
    this.hint = hint
    this.code = code
    this.details = details
  }
}

/** The failure of a command whose arguments are not valid. */
export const createUsageError = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(EXIT_CODES.usage, message, { code: 'USAGE', ...(hint === undefined ? {} : { hint }) })

interface ErrorWithCode {
  code?: unknown
  message?: unknown
  details?: readonly unknown[]
}

/** The exit codes of error codes; every other error code is a failure. */
const EXIT_BY_CODE: Record<string, number> = {
  CONFIG_INVALID: EXIT_CODES.config,
  STORE_UNAVAILABLE: EXIT_CODES.unreachable,
  UNAUTHORIZED: EXIT_CODES.denied,
  FORBIDDEN: EXIT_CODES.denied,
  USAGE: EXIT_CODES.usage,
}

/** The exit code of an error code. */
export const exitCodeFor = (code: string): number => EXIT_BY_CODE[code] ?? EXIT_CODES.failure

/** Any error as a failure of the command. */
export function toCommandFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error
  const { code, message, details } = Object(error) as ErrorWithCode
  const name = typeof code === 'string' ? code : 'FAILED'
  return new CommandFailure(exitCodeFor(name), typeof message === 'string' ? message : String(error), {
    code: name,
    ...(details === undefined ? {} : { details }),
  })
}
