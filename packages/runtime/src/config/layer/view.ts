import { z } from 'zod'
import type { RetryPolicy } from '../../records/policy.js'
import { nearest } from '../nearest.js'
import { configInvalid, show } from '../problem.js'
import type { WirePolicyEntry } from './layer.js'

const STRATEGIES = ['exponential', 'linear', 'fixed'] as const

/** What each key takes, in words. */
const TAKES = {
  max_attempts: 'a whole number from 1 to 10',
  backoff_strategy: `one of ${STRATEGIES.join(', ')}`,
  base_delay: 'seconds above 0, up to 60',
  multiplier: 'a number above 1, up to 10',
  max_backoff_delay: 'seconds above 0, up to 300',
  jitter: 'true or false',
  retry_status_codes: 'a list of statuses from 500 to 599',
  timeout: 'seconds above 0, or null for none',
  retry_non_idempotent: 'true or false',
} as const

/** The default policy in the words of `/retry/policy`: those of proxies, with bounds of their own. */
export const policyViewSchema = z.strictObject({
  max_attempts: z.int().min(1).max(10).optional(),
  backoff_strategy: z.enum(STRATEGIES).optional(),
  base_delay: z.number().gt(0).max(60).optional(),
  multiplier: z.number().gt(1).max(10).optional(),
  max_backoff_delay: z.number().gt(0).max(300).optional(),
  jitter: z.boolean().optional(),
  retry_status_codes: z.array(z.int().min(500).max(599)).optional(),
  timeout: z.number().gt(0).nullish(),
  retry_non_idempotent: z.boolean().optional(),
})

/** What `/retry/policy` answers. */
export interface PolicyView {
  max_attempts: number
  backoff_strategy: (typeof STRATEGIES)[number]
  base_delay: number
  multiplier: number
  max_backoff_delay: number
  jitter: boolean
  retry_status_codes: number[]
  timeout: number | null
  retry_non_idempotent: boolean
  /** There where the policy cannot be said in these words and the nearest ones were taken. */
  approximate?: true
}

/** The share by which chance moves a wait up and down where `jitter` is true. */
const JITTER = 0.5
const STATUSES = [502, 503, 504]

/** The shortest wait, and the slowest growth, that these words have. */
const SHORTEST = 0.001
const SLOWEST = 1.001

/** A policy in the words of `/retry/policy`, or in the nearest ones. */
export function viewOf(policy: RetryPolicy): PolicyView {
  let exact = true
  const near = <T>(value: T, taken: T): T => {
    if (value !== taken) exact = false
    return taken
  }
  const within = (value: number, least: number, most: number): number =>
    near(value, Math.min(most, Math.max(least, value)))
  const { backoffType, jitterType, jitterAmount, retryStatusCodes } = policy
  const strategy = STRATEGIES.find((known) => known === backoffType)
  if (strategy === undefined) exact = false
  const shape = strategy ?? (backoffType === 'immediate' ? 'fixed' : 'exponential')
  const base = backoffType === 'immediate' ? 0 : policy.baseDelay / 1000
  if (jitterType !== 'none' && !(jitterType === 'proportional' && jitterAmount === JITTER)) exact = false
  const statuses = retryStatusCodes ?? STATUSES
  const shown = statuses.filter((status) => status >= 500)
  if (shown.length < statuses.length) exact = false
  const multiplier = shape === 'exponential' ? within(policy.multiplier, SLOWEST, 10) : policy.multiplier
  const view: PolicyView = {
    max_attempts: within(policy.maxAttempts, 1, 10),
    backoff_strategy: shape,
    base_delay: within(base, SHORTEST, 60),
    multiplier: Math.min(10, Math.max(SLOWEST, multiplier)),
    max_backoff_delay: within(policy.maxDelay / 1000, SHORTEST, 300),
    jitter: jitterType !== 'none',
    retry_status_codes: [...shown],
    timeout: policy.totalTimeout == null ? null : policy.totalTimeout / 1000,
    retry_non_idempotent: policy.retryNonIdempotent,
  }
  return exact ? view : { ...view, approximate: true }
}

/** What a body of `PUT /retry/policy` says, in the words of policies. What it leaves out is not changed. @throws CONFIG_INVALID */
export function fromView(body: unknown): WirePolicyEntry {
  const result = policyViewSchema.safeParse(body)
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue) => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map((key) => {
          const like = nearest(key, Object.keys(TAKES))
          return {
            path: key,
            message: `is no key of the policy${like ? ` (did you mean ${like}?)` : `, takes ${Object.keys(TAKES).join(', ')}`}`,
          }
        })
      const [key] = issue.path
      if (key === undefined) return { path: '', message: `got ${show(body)}, takes an object` }
      const value = (Object(body) as Record<PropertyKey, unknown>)[key]
      return { path: String(key), message: `got ${show(value)}, takes ${TAKES[key as keyof typeof TAKES]}` }
    })
    throw configInvalid('the policy', problems)
  }
  const { backoff_strategy, max_backoff_delay, jitter, timeout, ...same } = result.data
  return {
    ...same,
    ...(backoff_strategy !== undefined && { backoff_type: backoff_strategy }),
    ...(max_backoff_delay !== undefined && { max_delay: max_backoff_delay }),
    ...(timeout !== undefined && { total_timeout: timeout }),
    ...(jitter === true && { jitter_type: 'proportional' as const, jitter_amount: JITTER }),
    ...(jitter === false && { jitter_type: 'none' as const }),
  }
}
