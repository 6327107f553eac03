import type { Context } from '../context.js'
import { EXIT, misused } from '../exit.js'
import { printJson } from '../output/print.js'
import { table } from '../output/table.js'
import { span } from '../output/text.js'
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
  attempts: {
    attempt_number: number
    outcome: string
    duration: number
    delay: number
    status_code?: number | null
    proxy_id?: string | null
    error?: { type: string; message: string } | null
  }[]
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

/** `request URL`: one request under a policy and through a pool, with its attempts. */
export async function request(context: Context, url: string, options: RequestOptions): Promise<number> {
  const { io, shared } = context
  const { method = options.data === undefined ? 'GET' : 'POST', header, data, pool, policy } = options
  const body = { url, method: method.toUpperCase(), headers: headersOf(header), body: data, pool, policy }
  const answer = await withApi(context, {}, (api) => ask<Answer>(api, 'POST', '/request', { body }))
  const failed = answer.status >= 400
  if (shared.json) {
    printJson(context, answer)
    return failed ? EXIT.failure : EXIT.ok
  }
  const rows = answer.attempts.map((attempt) => [
    attempt.attempt_number,
    span(attempt.delay),
    span(attempt.duration),
    attempt.outcome,
    attempt.status_code,
    attempt.proxy_id,
    attempt.error ? `${attempt.error.type}: ${attempt.error.message}` : null,
  ])
  // Beside the body, which may be piped on.
  io.err(table(io, ['attempt', 'waited', 'took', 'outcome', 'status', 'member', 'error'], rows))
  if (options.include)
    io.out(
      `${answer.status}\n${Object.entries(answer.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('')}\n`,
    )
  io.out(answer.body_encoding === 'base64' ? Buffer.from(answer.body, 'base64') : answer.body)
  return failed ? EXIT.failure : EXIT.ok
}
