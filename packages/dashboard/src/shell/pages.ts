import type { Role } from '@holdfast/server/internal'
import type { ComponentType } from 'preact'
import { Breakers } from '../pages/breakers/breakers.js'
import { DeadLetters } from '../pages/dead-letters/dead-letters.js'
import { Nodes } from '../pages/nodes/nodes.js'
import { Operations } from '../pages/operations/operations.js'
import { Overview } from '../pages/overview/overview.js'
import { Policies } from '../pages/policies/policies.js'
import { Pools } from '../pages/pools/pools.js'
import { Audit } from '../pages/records/audit.js'
import { Errors } from '../pages/records/errors.js'
import { Sessions } from '../pages/sessions/sessions.js'
import { Settings } from '../pages/settings/settings.js'
import { Tokens } from '../pages/tokens/tokens.js'

export interface PageDefinition {
  readonly path: string
  readonly title: string
  readonly Body: ComponentType
  /** The role without which the menu does not show the page. */
  readonly role?: Role
}

/** All pages in the order of the menu. */
export const PAGES: readonly PageDefinition[] = [
  { path: '/', title: 'Overview', Body: Overview },
  { path: '/operations', title: 'Operations', Body: Operations },
  { path: '/breakers', title: 'Breakers', Body: Breakers },
  { path: '/pools', title: 'Pools', Body: Pools },
  { path: '/policies', title: 'Policies', Body: Policies },
  { path: '/sessions', title: 'Sessions', Body: Sessions },
  { path: '/dead-letters', title: 'Dead letters', Body: DeadLetters },
  { path: '/errors', title: 'Errors', Body: Errors },
  { path: '/audit', title: 'Audit', Body: Audit },
  { path: '/nodes', title: 'Nodes', Body: Nodes },
  { path: '/tokens', title: 'Tokens', Body: Tokens, role: 'admin' },
  { path: '/settings', title: 'Settings', Body: Settings },
]
