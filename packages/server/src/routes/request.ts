import { attemptCodec, type RetryAttempt, type RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { classify, isHoldfastError, type RetryOptions } from 'holdfast'
import { compileMatchers } from 'holdfast/internal'
import { ApiError, retryAfterHeader } from '../http/errors.js'
import { RequestAttemptLog, summarizeError, TransientStatusError } from '../request/attempts.js'
import { createRequestSignal } from '../request/request-signal.js'
import { type IncomingResponse, type OutgoingRequest, sendRequest } from '../request/send.js'
import { SessionListener } from '../request/session.js'
import { assertPublicTarget } from '../request/targets.js'
import { findPool } from './pools.js'
import type { Routes } from './routes.js'
import { optionalWord, recordSchemas } from './schemas.js'

/** What belongs to a connection, and not to a request that is handed on. */
const HOP_BY_HOP_HEADERS = new Set(
  'connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

const HOP_BY_HOP_MESSAGE = `belongs to the connection, which is made anew for each attempt: leave it out, as ${[...HOP_BY_HOP_HEADERS].join(', ')}`

const headersSchema = z.record(
  z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'takes names of headers')
    .refine((name) => !HOP_BY_HOP_HEADERS.has(name.toLowerCase()), HOP_BY_HOP_MESSAGE),
  z
    .string()
    .max(16_384)
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'takes no control characters'),
)

const targetUrl = z
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
    pool: optionalWord,
    url: targetUrl,
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
    policy: optionalWord,
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
    attempts: z.array(recordSchemas.attempt),
  })
  .meta({ id: 'ProxiedResponse' })

/** Errors after which a request provably never left. */
const wasNotSent = compileMatchers(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** For a request that must not arrive twice: of what its policy retries, that alone after which it never left. */
const retryOnlyUnsent = ({ abortExceptions }: RetryPolicy): RetryOptions => ({
  abortOn: [...(abortExceptions ?? []), (error) => !wasNotSent(error, classify(error))],
})

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function encodeBody({ body, isTruncated }: IncomingResponse): Record<string, unknown> {
  const more = isTruncated ? { truncated: isTruncated } : {}
  try {
    return { body: strictUtf8.decode(body), ...more }
  } catch {
    return { body: body.toString('base64'), body_encoding: 'base64', ...more }
  }
}

/** One request through a pool, under a policy. */
export function addRequestRoutes({ hf, operation, settings, ending }: Routes): void {
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
      if (!allowPrivate) await assertPublicTarget(url)
      if (pool !== undefined) findPool(hf, pool)
      const named = body.policy ?? (pool && hf.config.current.pools?.[pool]?.policy) ?? 'default'
      const policy = await hf.policies.get(named)
      const headers: Record<string, string> = {
        'accept-encoding': 'identity',
        'user-agent': 'holdfast',
        ...lowerCaseNames(body.headers),
      }
      const text =
        body.body == null ? undefined : typeof body.body === 'string' ? body.body : JSON.stringify(body.body)
      if (text !== undefined && typeof body.body !== 'string') headers['content-type'] ??= 'application/json'
      const twice =
        !['POST', 'PATCH'].includes(method) || policy.retryNonIdempotent || 'idempotency-key' in headers

      const log = new RequestAttemptLog(settings.clock)
      const ear = new SessionListener(hf, c.get('requestId'))
      const { signal, done } = createRequestSignal(c.req.raw.signal, ending)
      const attempts = async (last?: IncomingResponse) =>
        withStatus((await ear.attempts()) ?? log.attempts, last).map(attemptCodec.encode)
      let answer: IncomingResponse
      try {
        answer = await hf.run(
          'request',
          (attempt) => {
            const outgoing: OutgoingRequest = {
              url,
              method,
              headers,
              body: text,
              signal: attempt.signal,
              allowPrivate,
            }
            return log.runAttempt(attempt, () => sendRequest(outgoing, attempt.member))
          },
          {
            policy,
            ...(twice ? {} : { retry: retryOnlyUnsent(policy) }),
            name: `request ${url.host}`,
            context: { method, host: url.host },
            correlationId: c.get('requestId'),
            signal,
            ...(pool === undefined ? {} : { pool }),
          },
        )
      } catch (error) {
        if (error instanceof TransientStatusError) answer = error.answer
        else throw createRequestError(error, await attempts())
      } finally {
        done()
        ear.close()
      }
      return {
        body: {
          status: answer.status,
          headers: answer.headers,
          ...encodeBody(answer),
          attempts: await attempts(answer),
        },
      }
    },
  )
}

const lowerCaseNames = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Sessions do not know what is in a result: the attempt that succeeded has the status of the answer. */
const withStatus = (attempts: readonly RetryAttempt[], last: IncomingResponse | undefined): RetryAttempt[] =>
  attempts.map((attempt) =>
    attempt.success && last !== undefined ? { ...attempt, statusCode: last.status } : attempt,
  )

/** Why there is no answer, with the attempts that were made. */
function createRequestError(error: unknown, attempts: readonly unknown[]): ApiError {
  if (error instanceof ApiError) return error
  const { message } = summarizeError(error)
  if (!isHoldfastError(error))
    return new ApiError('UPSTREAM_FAILED', `the request failed: ${message}`, { details: attempts })
  const headers = error.retryAfter === undefined ? {} : retryAfterHeader(error.retryAfter)
  return new ApiError(error.code, message, { details: error.details ?? attempts, headers })
}
