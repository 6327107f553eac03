import { HOP_BY_HOP_HEADERS } from '@holdfast/proxy/internal'
import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import { attemptCodec, type RetryAttempt, type RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { isHoldfastError, type RetryOptions } from 'holdfast'
import { wasNotSent } from 'holdfast/internal'
import { ApiError, retryAfterHeader } from '../http/api-error.js'
import { decodeUtf8 } from '../http/utf8.js'
import { RequestAttemptLog, summarizeError, TransientStatusError } from '../request/attempts.js'
import { createRequestSignal } from '../request/request-signal.js'
import { type IncomingResponse, type OutgoingRequest, sendRequest } from '../request/send.js'
import { SessionListener } from '../request/session.js'
import { assertPublicTarget } from '../request/targets.js'
import { findPool } from './pools.js'
import type { Routes } from './routes.js'
import { optionalWord, recordSchemas } from './schemas.js'

/** Headers that belong to a connection, or that are set for the target, and are not forwarded. */
const CONNECTION_HEADERS = new Set([...HOP_BY_HOP_HEADERS, 'content-length', 'expect', 'host'])

const CONNECTION_HEADER_MESSAGE = `expected an end-to-end header, got one of the connection (${[...CONNECTION_HEADERS].join(', ')})`

const headersSchema = z.record(
  z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'expected the name of a header')
    .refine((name) => !CONNECTION_HEADERS.has(name.toLowerCase()), CONNECTION_HEADER_MESSAGE),
  z
    .string()
    .max(16_384)
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected a value without control characters'),
)

const targetUrl = z
  .string()
  .max(8192)
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'expected an absolute http or https URL',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '',
    'expected a URL without credentials: put them into headers.authorization',
  )

const bodySchema = z
  .strictObject({
    pool: optionalWord('The pool to send the request through.'),
    url: targetUrl.describe('The absolute URL of the target, http or https, without credentials.'),
    method: z
      .string()
      .transform((text) => text.toUpperCase())
      .pipe(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']))
      .default('GET')
      .openapi({
        type: 'string',
        enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        default: 'GET',
        description: 'The method.',
      }),
    headers: headersSchema.default({}).describe('The headers of the request.'),
    body: z.unknown().optional().openapi({
      description:
        'A string is sent as it is, null means no body, anything else is sent as JSON. Not allowed with GET and HEAD.',
    }),
    policy: optionalWord('The policy of the request. Default: that of the pool.'),
  })
  .refine(({ method, body }) => body == null || (method !== 'GET' && method !== 'HEAD'), {
    path: ['body'],
    error: 'expected no body with GET and HEAD, got one; GET is the default method',
  })
  .meta({ id: 'ProxiedRequest' })

const responseSchema = z
  .object({
    status: z.int().describe('The HTTP status of the target.'),
    headers: z.record(z.string(), z.string()).describe('The headers of the response.'),
    body: z.string().describe('The body of the response.'),
    body_encoding: z.enum(['base64']).optional().describe('The encoding of a body that is not UTF-8.'),
    truncated: z.boolean().optional().describe('True if the body was cut off.'),
    attempts: z.array(recordSchemas.attempt).describe('All attempts.'),
  })
  .meta({ id: 'ProxiedResponse' })

/** The response to a proxied request, as on the wire. */
export type WireProxiedResponse = z.input<typeof responseSchema>

/** Retry options for a request that must not arrive twice: only errors before the request was sent are retried. */
const retryOnlyUnsent = ({ abortExceptions }: RetryPolicy): RetryOptions => ({
  abortOn: [...(abortExceptions ?? []), (error) => !wasNotSent(error, undefined)],
})

function encodeBody({ body, isTruncated }: IncomingResponse): Record<string, unknown> {
  const flags = isTruncated ? { truncated: isTruncated } : {}
  const text = decodeUtf8(body)
  return text === undefined
    ? { body: body.toString('base64'), body_encoding: 'base64', ...flags }
    : { body: text, ...flags }
}

/** The route that sends one request through a pool. */
export function addRequestRoutes({ hf, addRoute, settings, ending }: Routes): void {
  const arePrivateTargetsAllowed = () =>
    settings.allowPrivateTargets ?? hf.config.current.proxy?.allowPrivateTargets ?? false
  const activeSessions = new Set<SessionListener>()

  const redact = (text: string) => hf.config.redact(text)

  addRoute(
    {
      method: 'post',
      path: '/request',
      id: 'sendRequest',
      tag: 'request',
      role: 'operator',
      summary: 'Sends one request through a pool under a policy',
      description:
        'Responds 200 with the response of the target, whatever its status, and with all attempts. Redirects are not followed. ' +
        'The default of `policy` is that of the pool, else `default`. At most 1 MiB of the body is returned. Requires the role operator.',
      body: bodySchema,
      responses: { 200: { description: 'The last response and all attempts', schema: responseSchema } },
      errors: ['NOT_FOUND', 'UPSTREAM_FAILED', 'TOTAL_TIMEOUT'],
    },
    async ({ body, honoContext }) => {
      const { pool, method } = body
      const url = new URL(body.url)
      const allowPrivate = arePrivateTargetsAllowed()
      if (!allowPrivate) await assertPublicTarget(url)
      if (pool !== undefined) findPool(hf, pool)
      const policyId = body.policy ?? (pool && hf.config.current.pools?.[pool]?.policy) ?? DEFAULT_POLICY_ID
      const policy = await hf.policies.get(policyId)
      const headers: Record<string, string> = {
        'accept-encoding': 'identity',
        'user-agent': 'holdfast',
        ...lowerCaseNames(body.headers),
      }
      const text =
        body.body == null ? undefined : typeof body.body === 'string' ? body.body : JSON.stringify(body.body)
      if (text !== undefined && typeof body.body !== 'string') headers['content-type'] ??= 'application/json'
      const canRepeat =
        !['POST', 'PATCH'].includes(method) || policy.retryNonIdempotent || 'idempotency-key' in headers

      const log = new RequestAttemptLog(settings.clock, redact)
      const session = new SessionListener(hf, activeSessions, honoContext.get('requestId'))
      const { signal, done } = createRequestSignal(honoContext.req.raw.signal, ending)
      const attempts = async (last?: IncomingResponse) =>
        withStatus((await session.attempts()) ?? log.attempts, last).map(attemptCodec.encode)
      let response: IncomingResponse
      try {
        response = await hf.run(
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
            ...(canRepeat ? {} : { retry: retryOnlyUnsent(policy) }),
            name: `request ${url.host}`,
            context: { method, host: url.host },
            correlationId: honoContext.get('requestId'),
            signal,
            ...(pool === undefined ? {} : { pool }),
          },
        )
      } catch (error) {
        if (error instanceof TransientStatusError) response = error.response
        else throw createRequestError(error, await attempts(), redact)
      } finally {
        done()
        session.close()
      }
      return {
        body: {
          status: response.status,
          headers: response.headers,
          ...encodeBody(response),
          attempts: await attempts(response),
        },
      }
    },
  )
}

const lowerCaseNames = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Sets the status of the successful attempt, because sessions do not record results. */
const withStatus = (attempts: readonly RetryAttempt[], last: IncomingResponse | undefined): RetryAttempt[] =>
  attempts.map((attempt) =>
    attempt.success && last !== undefined ? { ...attempt, statusCode: last.status } : attempt,
  )

/** The error of a request without a response; its details are the attempts. */
function createRequestError(
  error: unknown,
  attempts: readonly unknown[],
  redact: (text: string) => string,
): ApiError {
  if (error instanceof ApiError) return error
  const { message } = summarizeError(error, redact)
  if (!isHoldfastError(error))
    return new ApiError('UPSTREAM_FAILED', `the request failed: ${message}`, { details: attempts })
  const headers = error.retryAfter === undefined ? {} : retryAfterHeader(error.retryAfter)
  return new ApiError(error.code, message, { details: error.details ?? attempts, headers })
}
