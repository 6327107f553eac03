import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import type { RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { assertPreconditions, createEtag } from '../http/etag.js'
import { createSerializer } from '../http/serializer.js'
import { knownTag, NOT_MODIFIED, preconditions } from './preconditions.js'
import type { Routes } from './routes.js'

const RETRIED_STATUSES = [502, 503, 504]

/** The default policy with the fields and bounds of a proxy rotator; durations are seconds. */
const viewSchema = z.strictObject({
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe('The maximum number of attempts, including the first.'),
  backoff_strategy: z
    .enum(['exponential', 'linear', 'fixed'])
    .default('exponential')
    .describe('How the delay grows from one retry to the next.'),
  base_delay: z.number().gt(0).max(60).default(1).describe('The delay before the first retry in seconds.'),
  multiplier: z.number().gt(1).max(10).default(2).describe('The factor of exponential growth.'),
  max_backoff_delay: z.number().gt(0).max(300).default(30).describe('The maximum delay in seconds.'),
  jitter: z.boolean().default(false).describe('Whether delays are randomized.'),
  retry_status_codes: z
    .array(z.int().min(500).max(599))
    .default(RETRIED_STATUSES)
    .describe('HTTP statuses that are retried.'),
  timeout: z
    .number()
    .gt(0)
    .nullable()
    .default(null)
    .describe('The total timeout of a call in seconds; null for none.'),
  retry_non_idempotent: z.boolean().default(false).describe('Whether POST and PATCH are retried.'),
})

type ProxyPolicyView = z.infer<typeof viewSchema>

/** The body of a PUT. Fields that only a response has are ignored, so that a response can be put back. */
const requestSchema = z
  .strictObject({
    ...viewSchema.shape,
    updated_at: z
      .unknown()
      .optional()
      .openapi({ type: 'string', format: 'date-time', readOnly: true, description: 'Ignored.' }),
    approximate: z.unknown().optional().openapi({ type: 'boolean', readOnly: true, description: 'Ignored.' }),
  })
  .meta({ id: 'RetryPolicyRequest' })

const answerSchema = z
  .object({
    ...viewSchema.shape,
    updated_at: z.iso.datetime().describe('When the policy last changed.'),
    approximate: z
      .boolean()
      .optional()
      .describe('True if these fields cannot express the policy, and the nearest values are returned.'),
  })
  .meta({ id: 'RetryPolicyView' })

/** The smallest distance from an exclusive bound, in seconds for delays: 0 and a multiplier of 1 are not allowed in the view. */
const MIN_DELAY = 0.001

/** The nearest value above an exclusive minimum and up to a maximum. */
const clampBetween = (value: number, minimum: number, maximum: number) =>
  value > minimum ? Math.min(maximum, value) : minimum + MIN_DELAY

/** The policy as a view. `approximate` is set where the view cannot express the policy exactly. */
export function toView(policy: RetryPolicy): ProxyPolicyView & { approximate?: true } {
  const { backoffType, jitterType, jitterAmount, retryStatusCodes, totalTimeout } = policy
  const hasJitter = jitterType !== 'none'
  const codes = retryStatusCodes ?? RETRIED_STATUSES
  const hasTimeout = totalTimeout != null && Number.isFinite(totalTimeout)
  const view: ProxyPolicyView = {
    max_attempts: Math.min(policy.maxAttempts, 10),
    backoff_strategy:
      backoffType === 'linear' || backoffType === 'exponential'
        ? backoffType
        : backoffType === 'fibonacci'
          ? 'exponential'
          : 'fixed',
    base_delay: backoffType === 'immediate' ? MIN_DELAY : clampBetween(policy.baseDelay / 1000, 0, 60),
    multiplier: clampBetween(policy.multiplier, 1, 10),
    max_backoff_delay: clampBetween(policy.maxDelay / 1000, 0, 300),
    jitter: hasJitter,
    retry_status_codes: codes.filter((code) => code >= 500 && code <= 599),
    timeout: hasTimeout ? Math.max(MIN_DELAY, totalTimeout / 1000) : null,
    retry_non_idempotent: policy.retryNonIdempotent,
  }
  const isExact =
    view.max_attempts === policy.maxAttempts &&
    view.backoff_strategy === backoffType &&
    view.base_delay === policy.baseDelay / 1000 &&
    (view.multiplier === policy.multiplier || backoffType !== 'exponential') &&
    view.max_backoff_delay === policy.maxDelay / 1000 &&
    (!hasJitter || (jitterType === 'proportional' && jitterAmount === 0.5)) &&
    view.retry_status_codes.length === codes.length &&
    (policy.retryableExceptions == null || policy.retryableExceptions.length === 0) &&
    (policy.abortExceptions == null || policy.abortExceptions.length === 0)
  return isExact ? view : { ...view, approximate: true }
}

/** Seconds as milliseconds, without rounding errors of the multiplication. */
const toMilliseconds = (seconds: number) => Math.round(seconds * 1e6) / 1e3 || seconds * 1000

/** The policy of a view. */
function fromView(view: ProxyPolicyView): Partial<RetryPolicy> & { id: string } {
  const maxDelay = toMilliseconds(view.max_backoff_delay)
  return {
    id: DEFAULT_POLICY_ID,
    maxAttempts: view.max_attempts,
    backoffType: view.backoff_strategy,
    // A delay never exceeds the maximum, so a longer base delay is the maximum.
    baseDelay: Math.min(toMilliseconds(view.base_delay), maxDelay),
    multiplier: view.multiplier,
    maxDelay,
    jitterType: view.jitter ? 'proportional' : 'none',
    jitterAmount: view.jitter ? 0.5 : 0.1,
    retryStatusCodes: view.retry_status_codes,
    totalTimeout: view.timeout === null ? null : toMilliseconds(view.timeout),
    retryNonIdempotent: view.retry_non_idempotent,
  }
}

/** The routes of the default policy in the form of a proxy rotator. */
export function addDefaultPolicyRoutes({ hf, addRoute }: Routes): void {
  const inOrder = createSerializer()
  const readView = async () => {
    const view = toView(await hf.policies.get(DEFAULT_POLICY_ID))
    return { ...view, updated_at: (await hf.config.changedAt(DEFAULT_POLICY_ID)).toISOString() }
  }
  const base = { path: '/retry/policy', tag: 'policies' } as const

  addRoute(
    {
      ...base,
      method: 'get',
      id: 'getDefaultPolicy',
      role: 'viewer',
      summary: 'The default policy with the fields of a proxy rotator',
      description:
        'If these fields cannot express the policy, the nearest values are returned and `approximate` is true. ' +
        'Requires the role viewer.',
      headers: knownTag,
      responses: { 200: { description: 'The default policy', schema: answerSchema }, ...NOT_MODIFIED },
    },
    async () => {
      const body = await readView()
      return { body, headers: { etag: createEtag(body) } }
    },
  )

  addRoute(
    {
      ...base,
      method: 'put',
      id: 'putDefaultPolicy',
      role: 'admin',
      summary: 'Changes the default policy; the change applies immediately and is stored',
      description:
        'Fields that are left out get the defaults of this schema; `updated_at` and `approximate` are ignored. A `base_delay` above `max_backoff_delay` is reduced to it, as ' +
        'every delay is. Requires the role admin.',
      headers: preconditions,
      body: requestSchema,
      responses: { 200: { description: 'The default policy after the change', schema: answerSchema } },
      errors: ['PRECONDITION_FAILED'],
    },
    ({ headers, body, actor }) =>
      inOrder(async () => {
        assertPreconditions(headers, await readView())
        await hf.policies.put(fromView(body), actor)
        const view = await readView()
        return { body: view, headers: { etag: createEtag(view) } }
      }),
  )
}
