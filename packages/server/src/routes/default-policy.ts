import type { RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { assertPreconditions, createEtag } from '../http/etag.js'
import { createSerializer } from '../http/serializer.js'
import { knownTag, NOT_MODIFIED, preconditions } from './policies.js'
import type { Routes } from './routes.js'

/** The policy that the proxies' view speaks of. */
const DEFAULT_POLICY_ID = 'default'

const RETRIED_STATUSES = [502, 503, 504]

/** The default policy in the words of a proxy rotator, within its bounds; durations are seconds. */
const viewSchema = z.strictObject({
  max_attempts: z.int().min(1).max(10).default(3),
  backoff_strategy: z.enum(['exponential', 'linear', 'fixed']).default('exponential'),
  base_delay: z.number().gt(0).max(60).default(1),
  multiplier: z.number().gt(1).max(10).default(2),
  max_backoff_delay: z.number().gt(0).max(300).default(30),
  jitter: z.boolean().default(false),
  retry_status_codes: z.array(z.int().min(500).max(599)).default(RETRIED_STATUSES),
  timeout: z.number().gt(0).nullable().default(null),
  retry_non_idempotent: z.boolean().default(false),
})

type ProxyPolicyView = z.infer<typeof viewSchema>

/** What was read can be put back: what only an answer says is passed over. */
const requestSchema = z
  .strictObject({
    ...viewSchema.shape,
    updated_at: z.unknown().optional().openapi({ type: 'string', format: 'date-time', readOnly: true }),
    approximate: z.unknown().optional().openapi({ type: 'boolean', readOnly: true }),
  })
  .meta({ id: 'RetryPolicyRequest' })

const answerSchema = z
  .object({
    ...viewSchema.shape,
    updated_at: z.iso.datetime(),
    approximate: z.boolean().optional(),
  })
  .meta({ id: 'RetryPolicyView' })

/** What is said of a delay of 0, and how much more than 1 of no growth: the bounds themselves are out of bounds. */
const MIN_DELAY = 0.001

/** The nearest value above one bound, and up to the other. */
const clampBetween = (value: number, above: number, most: number) =>
  value > above ? Math.min(most, value) : above + MIN_DELAY

/** The policy in the view's words; `approximate` where they do not say all of it. */
export function toView(policy: RetryPolicy): ProxyPolicyView & { approximate?: true } {
  const { backoffType, jitterType, jitterAmount, retryStatusCodes, totalTimeout } = policy
  const jitter = jitterType !== 'none'
  const codes = retryStatusCodes ?? RETRIED_STATUSES
  const timed = totalTimeout != null && Number.isFinite(totalTimeout)
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
    jitter,
    retry_status_codes: codes.filter((code) => code >= 500 && code <= 599),
    timeout: timed ? Math.max(MIN_DELAY, totalTimeout / 1000) : null,
    retry_non_idempotent: policy.retryNonIdempotent,
  }
  const exact =
    view.max_attempts === policy.maxAttempts &&
    view.backoff_strategy === backoffType &&
    view.base_delay === policy.baseDelay / 1000 &&
    (view.multiplier === policy.multiplier || backoffType !== 'exponential') &&
    view.max_backoff_delay === policy.maxDelay / 1000 &&
    (!jitter || (jitterType === 'proportional' && jitterAmount === 0.5)) &&
    view.retry_status_codes.length === codes.length &&
    (policy.retryableExceptions == null || policy.retryableExceptions.length === 0) &&
    (policy.abortExceptions == null || policy.abortExceptions.length === 0)
  return exact ? view : { ...view, approximate: true }
}

/** Milliseconds without the noise of the multiplication. */
const toMilliseconds = (seconds: number) => Math.round(seconds * 1e6) / 1e3 || seconds * 1000

/** What the view means for the policy. */
function fromView(view: ProxyPolicyView): Partial<RetryPolicy> & { id: string } {
  const maxDelay = toMilliseconds(view.max_backoff_delay)
  return {
    id: DEFAULT_POLICY_ID,
    maxAttempts: view.max_attempts,
    backoffType: view.backoff_strategy,
    // A delay never exceeds the cap, so a base above it is the cap.
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

/** The default policy as proxy rotators know it. */
export function addDefaultPolicyRoutes({ hf, operation }: Routes): void {
  const inOrder = createSerializer()
  const answer = async () => {
    const view = toView(await hf.policies.get(DEFAULT_POLICY_ID))
    return { ...view, updated_at: (await hf.config.changedAt(DEFAULT_POLICY_ID)).toISOString() }
  }
  const base = { path: '/retry/policy', tag: 'policies' } as const

  operation(
    {
      ...base,
      method: 'get',
      id: 'getDefaultPolicy',
      role: 'viewer',
      summary: 'The default policy in the words of a proxy rotator',
      description:
        'Where the policy cannot be said in these words, the nearest value is answered, and `approximate` is true. ' +
        'Takes the role viewer.',
      headers: knownTag,
      answers: { 200: { description: 'The default policy', schema: answerSchema }, ...NOT_MODIFIED },
    },
    async () => {
      const body = await answer()
      return { body, headers: { etag: createEtag(body) } }
    },
  )

  operation(
    {
      ...base,
      method: 'put',
      id: 'putDefaultPolicy',
      role: 'admin',
      summary: 'Changes the default policy, at once and for good',
      description:
        'Fields that are left out get the defaults given here; `updated_at` and `approximate` are passed over. A `base_delay` above `max_backoff_delay` is cut to it, as ' +
        'every delay is. Takes the role admin.',
      headers: preconditions,
      body: requestSchema,
      answers: { 200: { description: 'The default policy as it is now', schema: answerSchema } },
      errors: [412],
    },
    ({ headers, body, by }) =>
      inOrder(async () => {
        assertPreconditions(headers, await answer())
        await hf.policies.put(fromView(body), by)
        const now = await answer()
        return { body: now, headers: { etag: createEtag(now) } }
      }),
  )
}
