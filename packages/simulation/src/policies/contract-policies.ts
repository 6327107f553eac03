/** The settings of a policy that decide about attempts, in milliseconds; Infinity for no timeout. */
export interface ContractPolicy {
  readonly maxAttempts: number
  readonly backoffType: 'exponential' | 'linear' | 'fixed' | 'immediate' | 'fibonacci'
  readonly baseDelay: number
  readonly multiplier: number
  readonly maxDelay: number
  readonly jitterType: 'none' | 'full' | 'equal' | 'decorrelated' | 'proportional' | 'additive'
  readonly jitterAmount: number
  readonly jitterMin: number
  readonly jitterMax: number
  readonly maxRetryAfter: number
  readonly attemptTimeout: number
  readonly totalTimeout: number
  readonly bulkhead?: { readonly limit: number; readonly queue: number; readonly maxWait: number }
  readonly hedge?: { readonly delay: number; readonly max: number }
  readonly circuitBreaker?: string
  readonly budget?: { readonly ratio: number; readonly reservePerSecond: number; readonly window: number }
}

const POLICY: ContractPolicy = {
  maxAttempts: 3,
  backoffType: 'exponential',
  baseDelay: 200,
  multiplier: 2,
  maxDelay: 1500,
  jitterType: 'full',
  jitterAmount: 0.5,
  jitterMin: 10,
  jitterMax: 90,
  maxRetryAfter: 2000,
  attemptTimeout: 900,
  totalTimeout: 4000,
}

/** The operation with a breaker, which only an operator opens. */
export const GUARDED_OPERATION = 'contract-guarded'

/** The settings of all breakers of the contract. No failures open them, and they do not close by themselves. */
const BREAKER_SETTINGS = {
  failureThreshold: 1_000_000,
  windowDuration: 60_000,
  timeoutDuration: 3_600_000,
  share: 'none',
} as const

/**
 * The operation whose calls are rejected by its bulkhead and by two breakers, those of its two policies. Only an operator opens them, for
 * a time after which they are half open.
 */
export const SHED_OPERATION = 'contract.shed'
const SHED_POLICY_ID = 'contract-shed'
const SHED_LIMITED_POLICY_ID = 'contract-shed-limited'
const createShedPolicy = (circuitBreaker: string) => ({
  maxAttempts: 1,
  bulkhead: { limit: 1, queue: 0 },
  circuitBreaker,
})

/** All operations of the contract, and no others. */
const OPERATION_PATTERN = /^contract[-.]/

/**
 * Each operation has a policy of the same name. Only an operator opens their breakers, so that a naive model can tell what each call
 * does.
 */
export const CONTRACT_POLICIES = {
  // Calls without options use the path of the runtime that is shortest.
  'contract-plain': POLICY,
  'contract.kinds': POLICY,
  'contract-total': {
    ...POLICY,
    maxAttempts: 5,
    backoffType: 'linear',
    jitterType: 'equal',
    attemptTimeout: Number.POSITIVE_INFINITY,
    totalTimeout: 1600,
  },
  'contract-bulkhead': { ...POLICY, maxAttempts: 2, bulkhead: { limit: 2, queue: 2, maxWait: 700 } },
  'contract-budget': {
    ...POLICY,
    jitterType: 'proportional',
    totalTimeout: Number.POSITIVE_INFINITY,
    budget: { ratio: 0.4, reservePerSecond: 0.1, window: 20_000 },
    circuitBreaker: 'contract-budget',
  },
  'contract-hedge': {
    ...POLICY,
    maxAttempts: 2,
    hedge: { delay: 120, max: 2 },
    bulkhead: { limit: 3, queue: 1, maxWait: 700 },
  },
  // The window is longer than a group of calls, so that a budget that is spent stays spent.
  [GUARDED_OPERATION]: {
    ...POLICY,
    maxAttempts: 1,
    hedge: { delay: 90, max: 3 },
    budget: { ratio: 0, reservePerSecond: 0.4, window: 20_000 },
    circuitBreaker: GUARDED_OPERATION,
  },
} as const satisfies Record<string, ContractPolicy>

/** The policy that applies after a rate limit to the calls of `contract.kinds`. */
export const LIMITED_POLICY_ID = 'contract-limited'
export const LIMITED_POLICY: ContractPolicy = {
  ...POLICY,
  maxAttempts: 4,
  backoffType: 'fixed',
  jitterType: 'none',
  attemptTimeout: 400,
  maxRetryAfter: 300,
}

/** The id of the policy of an operation. */
export const policyIdOf = (operation: ContractOperation): string =>
  operation === 'contract.kinds' ? 'contract-plain' : operation

/** The operation whose policy depends on the kind of the last failure. */
export const CONTRACT_MAPPINGS = {
  contract: {
    kinds: { rate_limited: LIMITED_POLICY_ID, default: 'contract-plain' },
    shed: { rate_limited: SHED_LIMITED_POLICY_ID, default: SHED_POLICY_ID },
  },
}

/** The breakers of all policies of the contract, as they are in the configuration of a node. */
export const CONTRACT_BREAKERS = Object.fromEntries(
  [GUARDED_OPERATION, 'contract-budget', SHED_POLICY_ID, SHED_LIMITED_POLICY_ID].map((id) => [
    id,
    BREAKER_SETTINGS,
  ]),
)

export type ContractOperation = keyof typeof CONTRACT_POLICIES

export const CONTRACT_OPERATIONS = Object.keys(CONTRACT_POLICIES) as readonly ContractOperation[]

/** Whether an operation is one of the contract. */
export const isContractOperation = (operation: unknown): boolean =>
  typeof operation === 'string' && OPERATION_PATTERN.test(operation)

/** The policies as they are in the configuration of a node. */
export const createContractPolicies = (): Record<string, object> =>
  Object.fromEntries(
    Object.entries({
      ...CONTRACT_POLICIES,
      [LIMITED_POLICY_ID]: LIMITED_POLICY,
      [SHED_POLICY_ID]: createShedPolicy(SHED_POLICY_ID),
      [SHED_LIMITED_POLICY_ID]: createShedPolicy(SHED_LIMITED_POLICY_ID),
    })
      .filter(([id]) => id !== 'contract.kinds')
      .map(([id, policy]) => [
        id,
        Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== Number.POSITIVE_INFINITY)),
      ]),
  )
