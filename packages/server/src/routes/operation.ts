import { createRoute, type RouteConfig, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ReadAction, ReadAudit } from '../auth/read-audit.js'
import { readJson } from '../http/body.js'
import type { App, Env } from '../http/env.js'
import { ApiError, createValidationError, fieldError } from '../http/errors.js'
import { matchesWeakly } from '../http/etag.js'
import { type Caller, hasRole, type Role } from '../roles.js'
import { errorResponseSchema } from './schemas.js'

/** Who acts, and why, as the runtime takes it. */
export interface RequestActor {
  by: string
  reason?: string
}

type SchemaOutput<S> = S extends z.ZodType ? z.output<S> : undefined

/** What a handler is given: everything checked, and who asks. */
export interface OperationInput<P, Q, H, B> {
  params: SchemaOutput<P>
  query: SchemaOutput<Q>
  headers: SchemaOutput<H>
  body: SchemaOutput<B>
  caller: Caller
  /** The caller's name and reason: the header `x-reason`, else the body's `reason`. */
  by: RequestActor
  c: Context<Env>
}

/** What a handler answers: a body in the wire's spelling, with a status and headers where they are not the usual ones. */
export interface OperationResult {
  body?: unknown
  status?: 200 | 201 | 202 | 204
  headers?: Record<string, string>
}

type ErrorStatus = 400 | 404 | 409 | 412 | 413 | 429 | 502 | 503 | 504

/** One operation: how it is called, who may call it, and what it answers. */
export interface OperationSpec<P, Q, H, B> {
  method: 'get' | 'put' | 'post' | 'patch' | 'delete'
  path: string
  id: string
  tag: string
  role: Role
  summary: string
  description?: string
  params?: P
  query?: Q
  headers?: H
  body?: B
  /** The same, for a body that may be left out. */
  optionalBody?: B
  /** For bodies that are no JSON: taken as they come, and read by the handler. */
  rawBody?: { description: string; types: readonly string[] }
  answers: Partial<
    Record<200 | 201 | 202 | 204 | 304, { description: string; schema?: z.ZodType; type?: string }>
  >
  /** Errors beside those that every operation may answer. */
  errors?: readonly ErrorStatus[]
  /** What the reading of this is written down as. */
  reads?: ReadAction
}

const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The request does not fit; `details` has a path and a sentence for each problem.',
  401: 'A token is needed, and none or a wrong one was shown.',
  403: 'The caller may not do this.',
  404: 'There is no such thing.',
  409: 'It cannot be done as things stand.',
  412: 'It has changed since its ETag was read.',
  413: 'The body is too large.',
  429: 'Too often; Retry-After says when to come back.',
  502: 'What was called failed.',
  503: 'It cannot be done now; Retry-After says when, where that is known.',
  504: 'It took too long.',
}

const hasReason = (body: unknown): body is { reason: string } =>
  typeof body === 'object' && body !== null && 'reason' in body && typeof body.reason === 'string'

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** The words of a header: its bytes are UTF-8 where they can be, and else what HTTP takes them for. */
function decodeHeader(text: string): string {
  try {
    return strictUtf8.decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}

/** The query of an operation that has none: a parameter that there is not is an error everywhere. */
const NO_QUERY = z.strictObject({})

/** Makes the function that adds operations to an app: each with its check of the role, and its entry in OpenAPI. */
export function createOperationRegistrar(app: App, reads: ReadAudit) {
  return function operation<
    P extends z.ZodType | undefined = undefined,
    Q extends z.ZodType | undefined = undefined,
    H extends z.ZodType | undefined = undefined,
    B extends z.ZodType | undefined = undefined,
  >(
    spec: OperationSpec<P, Q, H, B>,
    handle: (
      input: OperationInput<P, Q, H, B>,
    ) => Promise<OperationResult | Response> | OperationResult | Response,
  ): void {
    const { role, reads: action } = spec
    const route = toOpenApiRoute(spec)
    app.openAPIRegistry.registerPath(route)
    // Bodies are read here, because a body may be left out, or be no JSON.
    const { body: _, ...request } = route.request ?? {}
    const served = createRoute({
      ...route,
      request: { query: NO_QUERY, ...request },
      hide: true,
      middleware: async (c: Context<Env>, next: () => Promise<void>) => {
        const caller = c.get('caller')
        if (!hasRole(caller.role, role))
          throw new ApiError('FORBIDDEN', `this takes the role ${role}, and ${caller.name} is ${caller.role}`)
        await next()
      },
    })
    app.openapi(
      served as never,
      (async (c: Context<Env>) => {
        const valid = (target: string): unknown => c.req.valid(target as never)
        const caller = c.get('caller')
        const body = await parseBody(c, spec)
        const said = c.req.header('x-reason')
        const reason = said === undefined ? (hasReason(body) ? body.reason : undefined) : decodeHeader(said)
        if (action !== undefined) reads.countRead(caller.name, action)
        const answer = await handle({
          params: spec.params && valid('param'),
          query: spec.query && valid('query'),
          headers: spec.headers && valid('header'),
          body,
          caller,
          by: { by: caller.name, ...(reason === undefined ? {} : { reason }) },
          c,
        } as OperationInput<P, Q, H, B>)
        if (answer instanceof Response) return answer
        const { status = 200, headers = {} } = answer
        if (status === 204) return c.body(null, 204, headers)
        const known = spec.method === 'get' ? c.req.header('if-none-match') : undefined
        if (known !== undefined && matchesWeakly(known, headers['etag'])) return c.body(null, 304, headers)
        return c.json(answer.body as object, status, headers)
      }) as never,
    )
  }
}

/** The body as its schema reads it. */
async function parseBody<P, Q, H, B>(c: Context<Env>, spec: OperationSpec<P, Q, H, B>): Promise<unknown> {
  const schema = (spec.body ?? spec.optionalBody) as z.ZodType | undefined
  if (schema === undefined) return undefined
  const json = await readJson(c)
  if (json === undefined && spec.body === undefined) return undefined
  if (json === undefined) throw fieldError('body', '', 'expected a JSON body, got none')
  const read = schema.safeParse(json)
  if (!read.success) throw createValidationError(read.error, 'json')
  return read.data
}

/** An operation as OpenAPI says it. */
function toOpenApiRoute<P, Q, H, B>(spec: OperationSpec<P, Q, H, B>) {
  const { params, query, headers, rawBody } = spec
  const body = spec.body ?? spec.optionalBody
  const errors = [400, 401, 403, 429, 503, ...(spec.errors ?? [])]
  if (params !== undefined) errors.push(404)
  if (body !== undefined || rawBody !== undefined) errors.push(413)
  const raw = rawBody && {
    description: rawBody.description,
    required: true,
    content: Object.fromEntries(rawBody.types.map((type) => [type, { schema: { type: 'string' } }])),
  }
  const json = body && {
    required: spec.body !== undefined,
    content: { 'application/json': { schema: body } },
  }
  return {
    method: spec.method,
    path: spec.path,
    operationId: spec.id,
    tags: [spec.tag],
    summary: spec.summary,
    description: spec.description ?? `${spec.summary}. Takes the role ${spec.role}.`,
    'x-role': spec.role,
    security: [{ bearer: [] }, {}],
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { headers }),
      ...(json === undefined && raw === undefined ? {} : { body: json ?? raw }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(spec.answers).map(([status, { description, schema, type }]) => [
          status,
          schema === undefined && type === undefined
            ? { description }
            : {
                description,
                content: { [type ?? 'application/json']: { schema: schema ?? { type: 'string' } } },
              },
        ]),
      ),
      ...Object.fromEntries(
        [...new Set(errors)]
          .toSorted((a, b) => a - b)
          .map((status) => [
            status,
            {
              description: STATUS_DESCRIPTIONS[status] ?? 'It failed.',
              content: { 'application/json': { schema: errorResponseSchema } },
            },
          ]),
      ),
    },
  } as unknown as RouteConfig & { path: string }
}
