import { type RouteConfig, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ReadAction, ReadAudit } from '../auth/read-audit.js'
import { ApiError } from '../http/api-error.js'
import { readJson } from '../http/body.js'
import type { App, Env } from '../http/env.js'
import { type ErrorCode, HTTP_STATUS_BY_CODE, STATUS_DESCRIPTIONS } from '../http/error-codes.js'
import { matchesWeakly } from '../http/etag.js'
import { decodeUtf8 } from '../http/utf8.js'
import { fieldError, parsePart } from '../http/validation.js'
import { type Caller, hasRole, type Role } from '../roles.js'
import { errorResponseSchema } from './schemas.js'

/** The actor and the reason of a change, as the runtime takes them. */
export interface RequestActor {
  by: string
  reason?: string
}

type SchemaInput<S> = S extends z.ZodType ? z.input<S> : undefined
type SchemaOutput<S> = S extends z.ZodType ? z.output<S> : undefined

/** The input of a handler: the parsed parts of the request, and the caller. */
export interface RouteInput<P, Q, H, B> {
  params: SchemaOutput<P>
  query: SchemaOutput<Q>
  headers: SchemaOutput<H>
  body: SchemaOutput<B>
  /** The body as it was sent, in the names and units of the wire. */
  json: SchemaInput<B>
  caller: Caller
  /** The name of the caller and its reason: the header `x-reason`, else the field `reason` of the body. */
  actor: RequestActor
  honoContext: Context<Env>
}

/** The result of a handler: a body as it is on the wire. The default status is 200. */
export interface RouteResult {
  body?: unknown
  status?: 200 | 201 | 202 | 204
  headers?: Record<string, string>
}

/** A route of the API: its request, its role, its responses. */
export interface RouteSpec<P, Q, H, B> {
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
  /** The schema of a body that can be left out. */
  optionalBody?: B
  /** A body that is not JSON. The handler reads it. */
  rawBody?: { description: string; types: readonly string[] }
  responses: Partial<
    Record<200 | 201 | 202 | 204 | 304, { description: string; schema?: z.ZodType; type?: string }>
  >
  /** The codes of errors besides those that every route can respond with. */
  errors?: readonly ErrorCode[]
  /** The action under which reads are audited. */
  reads?: ReadAction
}

const hasReason = (body: unknown): body is { reason: string } =>
  typeof body === 'object' && body !== null && 'reason' in body && typeof body.reason === 'string'

/** Decodes a header as UTF-8, or as Latin-1 where its bytes are not valid UTF-8. */
const decodeHeader = (text: string): string => decodeUtf8(Buffer.from(text, 'latin1')) ?? text

/** The query of a route without parameters. An unknown parameter is an error in every route. */
const NO_QUERY = z.strictObject({})

/** Path parameters as Hono spells them. */
const toRoutingPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** A parameter that is given once is a string, one that is given several times an array. */
const readQuery = (c: Context<Env>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )

/** Creates the function that adds routes to an app: the check of the role, the parsing of the request, the entry in OpenAPI. */
export function createRouteRegistrar(app: App, reads: ReadAudit) {
  return function addRoute<
    P extends z.ZodType | undefined = undefined,
    Q extends z.ZodType | undefined = undefined,
    H extends z.ZodType | undefined = undefined,
    B extends z.ZodType | undefined = undefined,
  >(
    spec: RouteSpec<P, Q, H, B>,
    handle: (input: RouteInput<P, Q, H, B>) => Promise<RouteResult | Response> | RouteResult | Response,
  ): void {
    const { role, reads: action } = spec
    app.openAPIRegistry.registerPath(toOpenApiRoute(spec))
    app.on(spec.method, toRoutingPath(spec.path), async (c) => {
      const caller = c.get('caller')
      if (!hasRole(caller.role, role))
        throw new ApiError('FORBIDDEN', `expected the role ${role}, got ${caller.role} (${caller.name})`)
      const params = spec.params && parsePart(spec.params, c.req.param(), 'path')
      const query = parsePart(spec.query ?? NO_QUERY, readQuery(c), 'query')
      const headers = spec.headers && parsePart(spec.headers, c.req.header(), 'header')
      const json = await readBody(c, spec)
      const schema: z.ZodType | undefined = spec.body ?? spec.optionalBody
      const body = json === undefined ? undefined : parsePart(schema as z.ZodType, json, 'body')
      const reason = readReason(c, body)
      if (action !== undefined) reads.countRead(caller.name, action)
      const result = await handle({
        params,
        query: spec.query && query,
        headers,
        body,
        json,
        caller,
        actor: { by: caller.name, ...(reason === undefined ? {} : { reason }) },
        honoContext: c,
      } as RouteInput<P, Q, H, B>)
      return result instanceof Response ? result : toResponse(c, result)
    })
  }
}

/** The reason that a change is recorded with: the header `x-reason`, else the field `reason` of the body. */
function readReason(c: Context<Env>, body: unknown): string | undefined {
  const header = c.req.header('x-reason')
  if (header !== undefined) return decodeHeader(header)
  return hasReason(body) ? body.reason : undefined
}

/** Sends the result of a handler, or 304 where the client has it already. */
function toResponse(c: Context<Env>, { body, status = 200, headers = {} }: RouteResult): Response {
  if (status === 204) return c.body(null, 204, headers)
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD'
  const ifNoneMatch = isRead ? c.req.header('if-none-match') : undefined
  if (ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, headers['etag']))
    return c.body(null, 304, headers)
  return c.json(body as object, status, headers)
}

/** Reads the body of a request; undefined where the route takes none, or where an optional body is missing. */
async function readBody<P, Q, H, B>(c: Context<Env>, spec: RouteSpec<P, Q, H, B>): Promise<unknown> {
  if (spec.body === undefined && spec.optionalBody === undefined) return undefined
  const json = await readJson(c)
  if (json === undefined && spec.body !== undefined)
    throw fieldError('body', '', 'expected a JSON body, got none')
  return json
}

/** The errors that every route can respond with. */
export const COMMON_ERRORS = [
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'STORE_UNAVAILABLE',
] as const satisfies ErrorCode[]

/** The error responses of a route by status, for OpenAPI. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, object> {
  const statuses = [...new Set(codes.map((code) => HTTP_STATUS_BY_CODE[code]))].toSorted((a, b) => a - b)
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: STATUS_DESCRIPTIONS[status],
        content: { 'application/json': { schema: errorResponseSchema } },
      },
    ]),
  )
}

/** A route as an entry of OpenAPI. */
function toOpenApiRoute<P, Q, H, B>(spec: RouteSpec<P, Q, H, B>) {
  const { params, query, headers, rawBody } = spec
  const body = spec.body ?? spec.optionalBody
  const errors: ErrorCode[] = [...COMMON_ERRORS, ...(spec.errors ?? [])]
  if (params !== undefined) errors.push('NOT_FOUND')
  if (body !== undefined || rawBody !== undefined) errors.push('PAYLOAD_TOO_LARGE')
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
    description: spec.description ?? `${spec.summary}. Requires the role ${spec.role}.`,
    'x-role': spec.role,
    security: [{ bearer: [] }, { cookie: [] }, {}],
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { headers }),
      ...(json === undefined && raw === undefined ? {} : { body: json ?? raw }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(spec.responses).map(([status, { description, schema, type }]) => [
          status,
          schema === undefined && type === undefined
            ? { description }
            : {
                description,
                content: { [type ?? 'application/json']: { schema: schema ?? { type: 'string' } } },
              },
        ]),
      ),
      ...errorResponses(errors),
    },
  } as unknown as RouteConfig & { path: string }
}
