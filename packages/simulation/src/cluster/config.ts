import { BUDGET_OPERATION, SHARED_BUDGET } from '../invariants/budget-model.js'
import type { CallLimits } from '../invariants/call-model.js'
import {
  CONTRACT_BREAKERS,
  CONTRACT_MAPPINGS,
  createContractPolicies,
} from '../policies/contract-policies.js'
import { breakerSettings } from '../scenario/breaker-kinds.js'
import {
  ALL_OPERATIONS,
  MEMBERS,
  type MemberId,
  type Operation,
  POOL,
  POOL_OPERATION,
  type Scenario,
} from '../scenario/scenario.js'

const LIMITS: CallLimits = { maxAttempts: 3, attemptTimeout: 5000, totalTimeout: 15_000 }

/** The limits of the policies. Without a timeout, some handlers take so long that their lease must be renewed. */
export const POLICY_LIMITS: Record<Operation, CallLimits> = {
  mail: LIMITS,
  search: LIMITS,
  billing: LIMITS,
  report: { ...LIMITS, attemptTimeout: undefined, totalTimeout: undefined },
  crawl: LIMITS,
}

const definedLimits = (limits: CallLimits): object =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))

/** The parts of the configuration that differ between scenarios. */
export type ConfigChoices = Pick<Scenario, 'poolShare' | 'persists' | 'breakerKinds'>

export const memberUrl = (member: MemberId): string => `http://${member}.example:8080`

/** The configuration of a node. One breaker is shared in each of the three ways, and one is not shared. */
export const createNodeConfig = (
  node: string,
  redisUrl: string | undefined,
  { poolShare, persists, breakerKinds }: ConfigChoices,
): object => ({
  ...(redisUrl !== undefined && { shared: redisUrl }),
  // Heartbeats would be most of the events.
  node: { id: node, heartbeat: 20_000 },
  subsystemMappings: CONTRACT_MAPPINGS,
  policies: {
    ...createContractPolicies(),
    ...Object.fromEntries(
      ALL_OPERATIONS.map((operation) => [
        operation,
        {
          ...definedLimits(POLICY_LIMITS[operation]),
          baseDelay: 300,
          maxDelay: 2000,
          ...(operation !== POOL_OPERATION && { circuitBreaker: operation }),
          ...(operation === BUDGET_OPERATION && { budget: SHARED_BUDGET }),
        },
      ]),
    ),
  },
  circuitBreakers: {
    ...CONTRACT_BREAKERS,
    mail: { ...breakerSettings(breakerKinds, 0), persistState: persists, share: 'state' },
    search: { ...breakerSettings(breakerKinds, 1), persistState: persists, share: 'counts' },
    billing: {
      ...breakerSettings(breakerKinds, 2),
      persistState: persists,
      share: 'quorum',
      quorum: 0.5,
      minimumCalls: 2,
    },
    report: { ...breakerSettings(breakerKinds, 3), persistState: persists, share: 'none' },
  },
  pools: {
    [POOL]: {
      circuitBreaker: {
        ...breakerSettings(breakerKinds, 4),
        persistState: persists,
        share: poolShare,
        quorum: 0.5,
        minimumCalls: 2,
      },
      members: MEMBERS.map((id) => ({ id, url: memberUrl(id) })),
    },
  },
})
