import { requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { formatAttempts, type WireAttempt } from '../output/attempts.js'
import { printJson } from '../output/print.js'

export interface RequestCommandOptions {
  method?: string
  header: readonly string[]
  data?: string
  pool?: string
  policy?: string
  include?: boolean
}

interface WireRequestResult {
  status: number
  headers: Record<string, string>
  body: string
  body_encoding?: 'base64'
  attempts: WireAttempt[]
}

function parseHeaders(input: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    input.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1)
        throw createUsageError('--header: takes a name, a colon and a value, as in "accept: text/html"')
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

/** The words of the command for the fields of what is sent. */
const OPTION_BY_FIELD: Record<string, string> = { url: 'URL', headers: '--header', body: '--data' }

/** What does not fit, in the words of the command. */
function toOptionFailure(details: readonly unknown[]): CommandFailure {
  const said = (details as { path: string; message: string }[]).map(({ path, message }) => {
    const [field = '', ...rest] = path.split('.')
    return `${[OPTION_BY_FIELD[field] ?? `--${field}`, ...(rest.length > 0 ? [rest.join('.')] : [])].join(' ')}: ${message}`
  })
  return createUsageError(said.join('; '))
}

/** Beside the body, which may be piped on. */
const showAttempts = ({ io }: CommandContext, attempts: readonly WireAttempt[]): void =>
  io.err(formatAttempts(io, attempts))

const isAttempt = (detail: unknown): detail is WireAttempt =>
  typeof (Object(detail) as Partial<WireAttempt>).attempt_number === 'number'

/** Why there is no answer, after the attempts that were made. */
function toRequestFailure(context: CommandContext, error: unknown): unknown {
  if (!(error instanceof CommandFailure) || error.details === undefined) return error
  if (error.code === 'BAD_REQUEST') return toOptionFailure(error.details)
  if (!context.globalOptions.json && error.details.length > 0 && error.details.every(isAttempt))
    showAttempts(context, error.details)
  return error
}

/** `request URL`: one request under a policy and through a pool, with its attempts. */
export async function sendRequest(
  context: CommandContext,
  url: string,
  options: RequestCommandOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const { method = options.data === undefined ? 'GET' : 'POST', header, data, pool, policy } = options
  const body = { url, method: method.toUpperCase(), headers: parseHeaders(header), body: data, pool, policy }
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw createUsageError('URL: takes a whole http or https address, such as https://example.com/')
  const answer = await withApi(context, { anyStore: true }, (api) =>
    requestJson<WireRequestResult>(api, 'POST', '/request', { body }),
  ).catch((error: unknown) => {
    throw toRequestFailure(context, error)
  })
  const failed = answer.status >= 400
  if (globalOptions.json) {
    printJson(context, answer)
    return failed ? EXIT_CODES.failure : EXIT_CODES.ok
  }
  showAttempts(context, answer.attempts)
  if (options.include)
    io.out(
      `${answer.status}\n${Object.entries(answer.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('')}\n`,
    )
  io.out(answer.body_encoding === 'base64' ? Buffer.from(answer.body, 'base64') : answer.body)
  return failed ? EXIT_CODES.failure : EXIT_CODES.ok
}
