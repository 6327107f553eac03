import type { WireProxiedResponse } from '../../routes/request.js'
import type { WireAttempt } from '../../wire-types.js'
import { requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { formatAttempts } from '../output/attempts.js'
import { printJson } from '../output/print.js'

export interface RequestCommandOptions {
  method?: string
  header: readonly string[]
  data?: string
  pool?: string
  policy?: string
  include?: boolean
}

function parseHeaders(input: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    input.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1)
        throw createUsageError('--header: expected a name, a colon and a value, such as "accept: text/html"')
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

/** The arguments of the command by the fields of the request body. */
const OPTION_BY_FIELD: Record<string, string> = { url: 'URL', headers: '--header', body: '--data' }

/** Invalid fields of the request body as invalid arguments of the command. */
function toOptionFailure(details: readonly unknown[]): CommandFailure {
  const messages = (details as { path: string; message: string }[]).map(({ path, message }) => {
    const [field = '', ...rest] = path.split('.')
    return `${[OPTION_BY_FIELD[field] ?? `--${field}`, ...(rest.length > 0 ? [rest.join('.')] : [])].join(' ')}: ${message}`
  })
  return createUsageError(messages.join('; '))
}

/** Prints the attempts to stderr, because the body on stdout can be piped. */
const showAttempts = ({ io }: CommandContext, attempts: readonly WireAttempt[]): void =>
  io.err(formatAttempts(io, attempts))

const isAttempt = (detail: unknown): detail is WireAttempt =>
  typeof (Object(detail) as Partial<WireAttempt>).attempt_number === 'number'

/** The failure of a request without a response. Its attempts are printed before. */
function toRequestFailure(context: CommandContext, error: unknown): unknown {
  if (!(error instanceof CommandFailure) || error.details === undefined) return error
  if (error.code === 'BAD_REQUEST') return toOptionFailure(error.details)
  if (!context.globalOptions.json && error.details.length > 0 && error.details.every(isAttempt))
    showAttempts(context, error.details)
  return error
}

/** `request URL`: sends one request with a policy through a pool, and shows its attempts. */
export async function sendRequest(
  context: CommandContext,
  url: string,
  options: RequestCommandOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const { method = options.data === undefined ? 'GET' : 'POST', header, data, pool, policy } = options
  const body = { url, method: method.toUpperCase(), headers: parseHeaders(header), body: data, pool, policy }
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw createUsageError('URL: expected an absolute http or https URL such as https://example.com/')
  const response = await withApi(context, { canUseMemory: true }, (api) =>
    requestJson<WireProxiedResponse>(api, 'POST', '/request', { body }),
  ).catch((error: unknown) => {
    throw toRequestFailure(context, error)
  })
  const hasFailed = response.status >= 400
  if (globalOptions.json) {
    printJson(context, response)
    return hasFailed ? EXIT_CODES.failure : EXIT_CODES.ok
  }
  showAttempts(context, response.attempts)
  if (options.include)
    io.out(
      `${response.status}\n${Object.entries(response.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('')}\n`,
    )
  io.out(response.body_encoding === 'base64' ? Buffer.from(response.body, 'base64') : response.body)
  return hasFailed ? EXIT_CODES.failure : EXIT_CODES.ok
}
