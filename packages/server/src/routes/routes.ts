import type { EventFeed } from '../events/feed.js'
import type { JobRegistry } from '../jobs/jobs.js'
import type { AppSettings } from '../options.js'
import type { HoldfastLike } from '../runtime-api.js'
import { addAccessRoutes } from './access.js'
import type { createRouteRegistrar } from './add-route.js'
import { addAuditRoutes } from './audit.js'
import { addBreakerRoutes } from './breakers.js'
import { addConfigRoutes } from './config.js'
import { addDeadLetterRoutes } from './dead-letters.js'
import { addDefaultPolicyRoutes } from './default-policy.js'
import { addErrorRoutes } from './errors.js'
import { addEventRoutes } from './events.js'
import { addJobRoutes } from './jobs.js'
import { addMetricsRoutes } from './metrics.js'
import { addNodeRoutes } from './nodes.js'
import { addPolicyRoutes } from './policies.js'
import { addPoolRoutes } from './pools.js'
import { addRequestRoutes } from './request.js'
import { addSessionRoutes } from './sessions.js'
import { addTokenRoutes } from './tokens.js'

/** The dependencies of the routes. */
export interface Routes {
  readonly hf: HoldfastLike
  readonly settings: AppSettings
  readonly addRoute: ReturnType<typeof createRouteRegistrar>
  readonly feed: EventFeed
  readonly jobs: JobRegistry
  /** Aborted when the server cancels requests in progress. */
  readonly ending: AbortSignal
}

/** Adds all routes below `/api/v1`. A literal path is added before a path with a parameter in the same place. */
export function addRoutes(routes: Routes): void {
  addDefaultPolicyRoutes(routes)
  addPolicyRoutes(routes)
  addBreakerRoutes(routes)
  addMetricsRoutes(routes)
  addSessionRoutes(routes)
  addEventRoutes(routes)
  addErrorRoutes(routes)
  addDeadLetterRoutes(routes)
  addJobRoutes(routes)
  addPoolRoutes(routes)
  addRequestRoutes(routes)
  addConfigRoutes(routes)
  addAuditRoutes(routes)
  addAccessRoutes(routes)
  addTokenRoutes(routes)
  addNodeRoutes(routes)
}
