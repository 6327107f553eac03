import type { Feed } from '../events/feed.js'
import type { HoldfastLike } from '../hf.js'
import type { Jobs } from '../jobs/jobs.js'
import type { AppSettings } from '../options.js'
import { access } from './access.js'
import { audit } from './audit.js'
import { breakers } from './breakers.js'
import { config } from './config.js'
import { deadLetters } from './dead-letters.js'
import { defaultPolicy } from './default-policy.js'
import { errors } from './errors.js'
import { events } from './events.js'
import { jobs } from './jobs.js'
import { metrics } from './metrics.js'
import { nodes } from './nodes.js'
import type { operations } from './operation.js'
import { policies } from './policies.js'
import { pools } from './pools.js'
import { request } from './request.js'
import { sessions } from './sessions.js'

/** What the routes are made of. */
export interface Routes {
  readonly hf: HoldfastLike
  readonly settings: AppSettings
  readonly operation: ReturnType<typeof operations>
  readonly feed: Feed
  readonly jobs: Jobs
  /** Aborted when the server does not wait any longer. */
  readonly ending: AbortSignal
}

/** Adds everything below `/api/v1`. A path with a word in it comes before one with a name in the same place. */
export function addRoutes(routes: Routes): void {
  defaultPolicy(routes)
  policies(routes)
  breakers(routes)
  metrics(routes)
  sessions(routes)
  events(routes)
  errors(routes)
  deadLetters(routes)
  jobs(routes)
  pools(routes)
  request(routes)
  config(routes)
  audit(routes)
  access(routes)
  nodes(routes)
}
