import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { OpenAPIHono } from '@hono/zod-openapi'
import { HoldfastError } from 'holdfast'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { authenticate } from '../auth/authenticate.js'
import { type ReadAction, ReadAudit } from '../auth/read-audit.js'
import { EventFeed } from '../events/feed.js'
import { limitBody } from '../http/body.js'
import type { App, Env } from '../http/env.js'
import { ApiError, createErrorHandler, onValidationResult } from '../http/errors.js'
import { redactText } from '../http/redact.js'
import { createSecurityHeaders, PAGE_POLICY } from '../http/security-headers.js'
import { JobRegistry } from '../jobs/jobs.js'
import { type AppOptions, type AppSettings, parseAppOptions } from '../options.js'
import { DOCS_STYLE, formatDocsPage } from '../pages/docs.js'
import { createDashboardHandler } from '../pages/files.js'
import { addHealth } from '../pages/health.js'
import { type Caller, LOCAL } from '../roles.js'
import { createOperationRegistrar } from '../routes/operation.js'
import { addRoutes } from '../routes/routes.js'
import type { HoldfastLike } from '../runtime-api.js'
import { addMetrics } from '../telemetry/route.js'
import { createOpenApiDocument } from './openapi.js'

/** An app, and what has to be let go of with it. */
export interface Built {
  readonly app: App
  /** Ends readers of the event stream, waits for jobs and writes down what was read. */
  close(): Promise<void>
  /** Ends the calls that requests still wait for, so that these are answered. */
  cancel(): void
  readonly logger: AppSettings['logger']
}

/** What a record of reading is about. */
const READ: Record<ReadAction, string> = { 'session.read': 'sessions', 'metrics.read': 'metrics' }

const PAGE = { 'content-security-policy': PAGE_POLICY, 'cache-control': 'no-cache' }

/** Makes an app of a runtime. `local` is who is let in where no token is needed. */
export function buildApp(hf: HoldfastLike, options: AppOptions = {}, local: Caller = LOCAL): Built {
  const settings = parseAppOptions(options)
  const { clock, logger } = settings
  const api: App = new OpenAPIHono<Env>({ defaultHook: onValidationResult })
  const app: App = new OpenAPIHono<Env>({ defaultHook: onValidationResult })
  const feed = new EventFeed(hf, { clock, heartbeat: settings.heartbeat, buffer: settings.readerBuffer })
  const jobs = new JobRegistry(clock)
  const ending = new AbortController()
  // Each request in flight listens to it, and stops listening when it ends.
  setMaxListeners(0, ending.signal)
  const reads = new ReadAudit(clock, (actor, action, { count, from, to }) => {
    const after = { count, from: from.toISOString(), to: to.toISOString() }
    return hf.audit.record({ by: actor }, action, READ[action], { after })
  })

  const refuse = createErrorHandler({
    redact: redactText,
    log: (error, requestId) =>
      logger.error(
        {
          requestId,
          error: redactText(error instanceof Error ? (error.stack ?? error.message) : String(error)),
        },
        'unexpected error while handling a request',
      ),
  })
  app.onError((error, c) => refuse(error, c))
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
        const said = `${c.req.method} is not for this path, which takes ${allow}`
        return refuse(new ApiError('METHOD_NOT_ALLOWED', said, { headers: { allow } }), c)
      },
    }),
  )
  // One for all, so that it hears of every wrong token.
  const door = authenticate(hf, settings, local)
  app.use('/api/v1/*', door)
  app.use('/api/v1/*', limitBody(settings.maxBody))

  addRoutes({
    hf,
    settings,
    operation: createOperationRegistrar(api, reads),
    feed,
    jobs,
    ending: ending.signal,
  })
  app.route('/api/v1', api)
  addHealth(app, hf)
  const stopMetrics = addMetrics(app, hf, settings, door)

  // Made when somebody first asks, because that takes longer than all the rest.
  let created: { document: object; page: string } | undefined
  const described = () => {
    const document = created?.document ?? createOpenApiDocument(app)
    created ??= { document, page: formatDocsPage(document) }
    return created
  }
  app.get('/openapi.json', (c) => c.json(described().document))
  app.get('/docs', (c) => c.html(described().page, 200, PAGE))
  app.get('/docs.css', (c) => c.body(DOCS_STYLE, 200, { 'content-type': 'text/css; charset=utf-8', ...PAGE }))

  const files = createDashboardHandler(settings.dashboard)
  app.notFound(async (c) => {
    const file = await files(c)
    return (
      file ??
      refuse(new ApiError('NOT_FOUND', `there is nothing at ${c.req.path}; /docs lists what there is`), c)
    )
  })

  return {
    app,
    logger,
    async close() {
      feed.close()
      stopMetrics()
      await jobs.close()
      await reads.flush()
    },
    cancel: () => ending.abort(new HoldfastError('CANCELLED', 'the server is closing')),
  }
}
