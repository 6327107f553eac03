import type { ComponentType } from 'preact'
import { Breakers } from '../views/breakers/breakers.js'
import { DeadLetters } from '../views/dead-letters/dead-letters.js'
import { Nodes } from '../views/nodes/nodes.js'
import { Overview } from '../views/overview/overview.js'
import { Policies } from '../views/policies/policies.js'
import { Pools } from '../views/pools/pools.js'
import { Audit } from '../views/records/audit.js'
import { Errors } from '../views/records/errors.js'
import { Sessions } from '../views/sessions/sessions.js'
import { Settings } from '../views/settings/settings.js'

export interface View {
  readonly path: string
  readonly title: string
  readonly Body: ComponentType
}

/** Every view there is, in the order of the menu. */
export const VIEWS: readonly View[] = [
  { path: '/', title: 'Overview', Body: Overview },
  { path: '/breakers', title: 'Breakers', Body: Breakers },
  { path: '/pools', title: 'Pools', Body: Pools },
  { path: '/policies', title: 'Policies', Body: Policies },
  { path: '/sessions', title: 'Sessions', Body: Sessions },
  { path: '/dead-letters', title: 'Dead letters', Body: DeadLetters },
  { path: '/errors', title: 'Errors', Body: Errors },
  { path: '/audit', title: 'Audit', Body: Audit },
  { path: '/nodes', title: 'Nodes', Body: Nodes },
  { path: '/settings', title: 'Settings', Body: Settings },
]
