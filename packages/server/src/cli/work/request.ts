import type { Context } from '../context.js'
import { CommandFailure, EXIT, misused } from '../exit.js'
import { type Attempt, attemptTable } from '../output/attempts.js'
import { printJson } from '../output/print.js'
import { ask, withApi } from '../source/api.js'

export interface RequestOptions {
  method?: string
  header: readonly string[]
  data?: string
  pool?: string
  policy?: string
  include?: boolean
}

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
  body_encoding?: 'base64'
  attempts: Attempt[]
}

function headersOf(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1) throw misused('--header: takes a name, a colon and a value, as in "accept: text/html"')
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

/** The words of the command for the fields of what is sent. */
const WORDS: Record<string, string> = { url: 'URL', headers: '--header', body: '--data' }

/** What does not fit, in the words of the command. */
function reworded(details: readonly unknown[]): CommandFailure {
  const said = (details as { path: string; message: string }[]).map(({ path, message }) => {
    const [field = '', ...rest] = path.split('.')
    return `${[WORDS[field] ?? `--${field}`, ...(rest.length > 0 ? [rest.join('.')] : [])].join(' ')}: ${message}`
  })
  return misused(said.join('; '))
}

/** Beside the body, which may be piped on. */
const showAttempts = ({ io }: Context, attempts: readonly Attempt[]): void =>
  io.err(attemptTable(io, attempts))

const isAttempt = (detail: unknown): detail is Attempt =>
  typeof (Object(detail) as Partial<Attempt>).attempt_number === 'number'

/** Why there is no answer, after the attempts that were made. */
function unanswered(context: Context, error: unknown): unknown {
  if (!(error instanceof CommandFailure) || error.details === undefined) return error
  if (error.code === 'BAD_REQUEST') return reworded(error.details)
  if (!context.shared.json && error.details.length > 0 && error.details.every(isAttempt))
    showAttempts(context, error.details)
  return error
}

/** `request URL`: one request under a policy and through a pool, with its attempts. */
export async function request(context: Context, url: string, options: RequestOptions): Promise<number> {
  const { io, shared } = context
  const { method = options.data === undefined ? 'GET' : 'POST', header, data, pool, policy } = options
  const body = { url, method: method.toUpperCase(), headers: headersOf(header), body: data, pool, policy }
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw misused('URL: takes a whole http or https address, such as https://example.com/')
  const answer = await withApi(context, { anyStore: true }, (api) =>
    ask<Answer>(api, 'POST', '/request', { body }),
  ).catch((error: unknown) => {
    throw unanswered(context, error)
  })
  const failed = answer.status >= 400
  if (shared.json) {
    printJson(context, answer)
    return failed ? EXIT.failure : EXIT.ok
  }
  showAttempts(context, answer.attempts)
  if (options.include)
    io.out(
      `${answer.status}\n${Object.entries(answer.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('')}\n`,
    )
  io.out(answer.body_encoding === 'base64' ? Buffer.from(answer.body, 'base64') : answer.body)
  return failed ? EXIT.failure : EXIT.ok
}
