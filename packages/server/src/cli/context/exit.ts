/** What a command ends with. Numbers are never used for another meaning. */
export const EXIT_CODES = {
  ok: 0,
  /** It was tried, and it failed. */
  failure: 1,
  /** The words of the command do not fit. */
  usage: 2,
  /** The config file cannot be used. */
  config: 3,
  /** The server or the store cannot be reached. */
  unreachable: 4,
  /** A token is missing, wrong, or not enough. */
  denied: 5,
  /** Ctrl-C ended it before it was done. */
  interrupted: 130,
} as const

/** Why a command ends with something else than 0: a sentence, what to do about it, and the number. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exit: number
  /** What to do now. */
  readonly hint: string | undefined
  /** A stable code, for `--json`. */
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

/** The words do not fit. */
export const createUsageError = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(EXIT_CODES.usage, message, { code: 'USAGE', ...(hint === undefined ? {} : { hint }) })

interface ErrorWithCode {
  code?: unknown
  message?: unknown
  details?: readonly unknown[]
}

/** The number for each code that a command may meet. */
const EXIT_BY_CODE: Record<string, number> = {
  CONFIG_INVALID: EXIT_CODES.config,
  STORE_UNAVAILABLE: EXIT_CODES.unreachable,
  UNAUTHORIZED: EXIT_CODES.denied,
  FORBIDDEN: EXIT_CODES.denied,
  USAGE: EXIT_CODES.usage,
}

/** The number for a code of ours. */
export const exitCodeFor = (code: string): number => EXIT_BY_CODE[code] ?? EXIT_CODES.failure

/** Any error as the end of a command. */
export function toCommandFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error
  const { code, message, details } = Object(error) as ErrorWithCode
  const name = typeof code === 'string' ? code : 'FAILED'
  return new CommandFailure(exitCodeFor(name), typeof message === 'string' ? message : String(error), {
    code: name,
    ...(details === undefined ? {} : { details }),
  })
}
