/**
 * Parts of the server for the dashboard. They can change with every release; applications use `@holdfast/server` itself.
 *
 * @packageDocumentation
 */

export { hasRole, type Role } from '../roles.js'
export type { WireAccess } from '../routes/access.js'
export type { WireConfigDifference, WireValidation } from '../routes/config.js'
export type { WireErrorGroup, WireErrorGroupDetails, WireErrorGroups } from '../routes/errors.js'
export type { WireJob } from '../routes/jobs.js'
export type { WireFleet, WireNode } from '../routes/nodes.js'
export type { WireMember, WirePool } from '../routes/pools.js'
export type { WireCreatedToken, WireToken } from '../routes/tokens.js'
export { waitOrAbort } from '../wait-or-abort.js'
export type {
  WireAttempt,
  WireBreaker,
  WireCount,
  WireDeadLetter,
  WireEvent,
  WireExplanation,
  WirePolicy,
  WireSession,
} from '../wire-types.js'
