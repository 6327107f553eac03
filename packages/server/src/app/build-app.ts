import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { OpenAPIHono } from '@hono/zod-openapi'
import { HoldfastError } from 'holdfast'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { authenticate } from '../auth/authenticate.js'
import { type ReadAction, ReadAudit } from '../auth/read-audit.js'
import { EventFeed } from '../events/feed.js'
import { ApiError } from '../http/api-error.js'
import { limitBody } from '../http/body.js'
import type { App, Env } from '../http/env.js'
import { createErrorHandler } from '../http/error-handler.js'
import { createSecurityHeaders, PAGE_POLICY } from '../http/security-headers.js'
import { JobRegistry } from '../jobs/jobs.js'
import { type AppOptions, type AppSettings, parseAppOptions } from '../options.js'
import { DOCS_STYLE, formatDocsPage } from '../pages/docs.js'
import { createDashboardHandler } from '../pages/files.js'
import { addHealth } from '../pages/health.js'
import { type Caller, LOCAL } from '../roles.js'
import { createRouteRegistrar } from '../routes/add-route.js'
import { addRoutes } from '../routes/routes.js'
import type { HoldfastLike } from '../runtime-api.js'
import { addMetrics } from '../telemetry/route.js'
import { createOpenApiDocument } from './openapi.js'

/** An app with the functions that end what belongs to it. */
export interface Built {
  readonly app: App
  /** Ends the readers of the event stream, waits for jobs and writes the audit records of reads. */
  close(): Promise<void>
  /** Cancels the calls that requests still wait for, so that these requests are answered. */
  cancel(): void
  readonly logger: AppSettings['logger']
}

/** The audit target of each read action. */
const TARGET_BY_READ: Record<ReadAction, string> = { 'session.read': 'sessions', 'metrics.read': 'metrics' }

const PAGE_HEADERS = { 'content-security-policy': PAGE_POLICY, 'cache-control': 'no-cache' }

/** Creates the app of a runtime. `local` is the caller of requests that need no token. */
export function buildApp(hf: HoldfastLike, options: AppOptions = {}, local: Caller = LOCAL): Built {
  const settings = parseAppOptions(options)
  const { clock, logger } = settings
  const api: App = new OpenAPIHono<Env>()
  const app: App = new OpenAPIHono<Env>()
  const feed = new EventFeed(hf, { clock, heartbeat: settings.heartbeat, buffer: settings.readerBuffer })
  const redact = (text: string) => hf.config.redact(text)
  const formatError = (error: unknown): string =>
    redact(error instanceof Error ? (error.stack ?? error.message) : String(error))
  const jobs = new JobRegistry(clock, {
    redact,
    logUnexpected: (error, jobId) =>
      logger.error({ jobId, error: formatError(error) }, 'unexpected error in a job'),
  })
  const ending = new AbortController()
  // Each request in flight adds a listener and removes it when it ends.
  setMaxListeners(0, ending.signal)
  const reads = new ReadAudit(clock, (actor, action, { count, from, to }) => {
    const after = { count, from: from.toISOString(), to: to.toISOString() }
    return hf.audit.record({ by: actor }, action, TARGET_BY_READ[action], { after })
  })

  const answerError = createErrorHandler({
    redact,
    log: (error, requestId) =>
      logger.error({ requestId, error: formatError(error) }, 'unexpected error while handling a request'),
  })
  app.onError((error, c) => answerError(error, c))
  app.use(createSecurityHeaders())
  app.use(async (c, next) => {
    const input = c.req.header('x-request-id')
    const requestId = input !== undefined && /^[\w.:-]{1,128}$/.test(input) ? input : randomUUID()
    c.set('requestId', requestId)
    c.header('x-request-id', requestId)
    await next()
  })
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const allow = methods.join(', ')
        const message = `expected one of the methods ${allow}, got ${c.req.method}`
        return answerError(new ApiError('METHOD_NOT_ALLOWED', message, { headers: { allow } }), c)
      },
    }),
  )
  // One middleware for all paths, so that its throttle counts every wrong token.
  const authentication = authenticate(hf, settings, local)
  app.use('/api/v1/*', authentication)
  app.use('/api/v1/*', limitBody(settings.maxBody))

  addRoutes({
    hf,
    settings,
    addRoute: createRouteRegistrar(api, reads),
    feed,
    jobs,
    ending: ending.signal,
  })
  app.route('/api/v1', api)
  addHealth(app, hf)
  const stopMetrics = addMetrics(app, hf, settings, authentication)

  // Created with the first request for it, because that takes longer than the rest of the start.
  let apiDocs: { document: object; page: string } | undefined
  const getApiDocs = () => {
    const document = apiDocs?.document ?? createOpenApiDocument(app)
    apiDocs ??= { document, page: formatDocsPage(document) }
    return apiDocs
  }
  app.get('/openapi.json', (c) => c.json(getApiDocs().document))
  app.get('/docs', (c) => c.html(getApiDocs().page, 200, PAGE_HEADERS))
  app.get('/docs.css', (c) =>
    c.body(DOCS_STYLE, 200, { 'content-type': 'text/css; charset=utf-8', ...PAGE_HEADERS }),
  )

  // The router looks up methods as properties of objects, so that it fails for `constructor`. The methods of HTTP have no
  // lower-case letters.
  const { fetch } = app
  app.fetch = (request, ...rest) => {
    const { method, url, headers } = request
    return fetch(
      /^[A-Z-]+$/.test(method) ? request : new Request(url, { method: 'UNKNOWN', headers }),
      ...rest,
    )
  }

  const files = createDashboardHandler(settings.dashboard)
  app.notFound(async (c) => {
    const file = await files(c)
    return (
      file ??
      answerError(new ApiError('NOT_FOUND', `not found: ${c.req.path}; /docs lists the paths of the API`), c)
    )
  })

  return {
    app,
    logger,
    async close() {
      feed.close()
      stopMetrics()
      await Promise.all([jobs.close(), reads.flush()])
    },
    cancel: () => ending.abort(new HoldfastError('CANCELLED', 'the server is closing')),
  }
}
