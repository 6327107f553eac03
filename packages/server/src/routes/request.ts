import { attemptCodec, type RetryAttempt, type RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { classify, isHoldfastError, type RetryOptions } from 'holdfast'
import { compileMatchers } from 'holdfast/internal'
import { Refusal, retryAfter } from '../answer/failure.js'
import { AttemptLog, StatusFailure, summary } from '../request/attempts.js'
import { leaving } from '../request/leaving.js'
import { type Incoming, type Outgoing, send } from '../request/send.js'
import { SessionEar } from '../request/session.js'
import { demandPublic } from '../request/targets.js'
import { poolOf } from './pools.js'
import type { Routes } from './routes.js'
import { shapes, word } from './shapes.js'

/** What belongs to a connection, and not to a request that is handed on. */
const HOP = new Set(
  'connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

const HOP_REFUSED = `belongs to the connection, which is made anew for each attempt: leave it out, as ${[...HOP].join(', ')}`

const headersSchema = z.record(
  z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'takes names of headers')
    .refine((name) => !HOP.has(name.toLowerCase()), HOP_REFUSED),
  z
    .string()
    .max(16_384)
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'takes no control characters'),
)

const address = z
  .string()
  .max(8192)
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'takes a whole http or https address',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '',
    'takes no credentials: put them into headers.authorization',
  )

const bodySchema = z
  .strictObject({
    pool: word,
    url: address,
    method: z
      .string()
      .transform((text) => text.toUpperCase())
      .pipe(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']))
      .default('GET')
      .openapi({ type: 'string', enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] }),
    headers: headersSchema.default({}),
    body: z.unknown().optional().openapi({
      description: 'A text as it is; null is none; anything else is sent as JSON. Not for GET and HEAD.',
    }),
    policy: word,
  })
  .refine(({ method, body }) => body == null || (method !== 'GET' && method !== 'HEAD'), {
    path: ['body'],
    error: 'is not for GET, which is the method where none is given, nor for HEAD: give another, or no body',
  })
  .meta({ id: 'ProxiedRequest' })

const answerSchema = z
  .object({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
    body_encoding: z.enum(['base64']).optional(),
    truncated: z.boolean().optional(),
    attempts: z.array(shapes.attempt),
  })
  .meta({ id: 'ProxiedResponse' })

/** Errors after which a request provably never left. */
const isUnsent = compileMatchers(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** For a request that must not arrive twice: of what its policy retries, that alone after which it never left. */
const careful = ({ abortExceptions }: RetryPolicy): RetryOptions => ({
  abortOn: [...(abortExceptions ?? []), (error) => !isUnsent(error, classify(error))],
})

const strict = new TextDecoder('utf-8', { fatal: true })

function bodyOf({ body, truncated }: Incoming): Record<string, unknown> {
  const more = truncated ? { truncated } : {}
  try {
    return { body: strict.decode(body), ...more }
  } catch {
    return { body: body.toString('base64'), body_encoding: 'base64', ...more }
  }
}

/** One request through a pool, under a policy. */
export function request({ hf, operation, settings, ending }: Routes): void {
  const mayBePrivate = () =>
    settings.allowPrivateTargets ?? hf.config.current.proxy?.allowPrivateTargets ?? false

  operation(
    {
      method: 'post',
      path: '/request',
      id: 'sendRequest',
      tag: 'request',
      role: 'operator',
      summary: 'Sends one request through a pool under a policy',
      description:
        'Answers 200 with what came back, whatever its status, and with every attempt. Redirects are not followed. Without ' +
        '`policy` the pool’s applies, else the default. At most 1 MiB of the body is answered. Takes the role operator.',
      body: bodySchema,
      answers: { 200: { description: 'The last answer and all attempts', schema: answerSchema } },
      errors: [404, 502, 504],
    },
    async ({ body, c }) => {
      const { pool, method } = body
      const url = new URL(body.url)
      const allowPrivate = mayBePrivate()
      if (!allowPrivate) await demandPublic(url)
      if (pool !== undefined) poolOf(hf, pool)
      const named = body.policy ?? (pool && hf.config.current.pools?.[pool]?.policy) ?? 'default'
      const policy = await hf.policies.get(named)
      const headers: Record<string, string> = {
        'accept-encoding': 'identity',
        'user-agent': 'holdfast',
        ...lowered(body.headers),
      }
      const text =
        body.body == null ? undefined : typeof body.body === 'string' ? body.body : JSON.stringify(body.body)
      if (text !== undefined && typeof body.body !== 'string') headers['content-type'] ??= 'application/json'
      const twice =
        !['POST', 'PATCH'].includes(method) || policy.retryNonIdempotent || 'idempotency-key' in headers

      const log = new AttemptLog(settings.clock)
      const ear = new SessionEar(hf, c.get('requestId'))
      const { signal, done } = leaving(c.req.raw.signal, ending)
      const attempts = async (last?: Incoming) =>
        withStatus((await ear.attempts()) ?? log.attempts, last).map(attemptCodec.encode)
      let answer: Incoming
      try {
        answer = await hf.run(
          'request',
          (attempt) => {
            const outgoing: Outgoing = {
              url,
              method,
              headers,
              body: text,
              signal: attempt.signal,
              allowPrivate,
            }
            return log.make(attempt, () => send(outgoing, attempt.member))
          },
          {
            policy,
            ...(twice ? {} : { retry: careful(policy) }),
            name: `request ${url.host}`,
            context: { method, host: url.host },
            correlationId: c.get('requestId'),
            signal,
            ...(pool === undefined ? {} : { pool }),
          },
        )
      } catch (error) {
        if (error instanceof StatusFailure) answer = error.answer
        else throw failed(error, await attempts())
      } finally {
        done()
        ear.close()
      }
      return {
        body: {
          status: answer.status,
          headers: answer.headers,
          ...bodyOf(answer),
          attempts: await attempts(answer),
        },
      }
    },
  )
}

const lowered = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Sessions do not know what is in a result: the attempt that succeeded has the status of the answer. */
const withStatus = (attempts: readonly RetryAttempt[], last: Incoming | undefined): RetryAttempt[] =>
  attempts.map((attempt) =>
    attempt.success && last !== undefined ? { ...attempt, statusCode: last.status } : attempt,
  )

/** Why there is no answer, with the attempts that were made. */
function failed(error: unknown, attempts: readonly unknown[]): Refusal {
  if (error instanceof Refusal) return error
  const { message } = summary(error)
  if (!isHoldfastError(error))
    return new Refusal('UPSTREAM_FAILED', `the request failed: ${message}`, { details: attempts })
  const headers = error.retryAfter === undefined ? {} : retryAfter(error.retryAfter)
  return new Refusal(error.code, message, { details: error.details ?? attempts, headers })
}
