import type { RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { demand, etagOf } from '../answer/etag.js'
import { oneAtATime } from '../answer/one-at-a-time.js'
import { knownTag, preconditions, UNCHANGED } from './policies.js'
import type { Routes } from './routes.js'

/** The policy that the proxies' view speaks of. */
const DEFAULT = 'default'

const STATUSES = [502, 503, 504]

/** The default policy in the words of a proxy rotator, within its bounds; durations are seconds. */
const viewSchema = z.strictObject({
  max_attempts: z.int().min(1).max(10).default(3),
  backoff_strategy: z.enum(['exponential', 'linear', 'fixed']).default('exponential'),
  base_delay: z.number().gt(0).max(60).default(1),
  multiplier: z.number().gt(1).max(10).default(2),
  max_backoff_delay: z.number().gt(0).max(300).default(30),
  jitter: z.boolean().default(false),
  retry_status_codes: z.array(z.int().min(500).max(599)).default(STATUSES),
  timeout: z.number().gt(0).nullable().default(null),
  retry_non_idempotent: z.boolean().default(false),
})

type View = z.infer<typeof viewSchema>

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
const LEAST = 0.001

/** The nearest value above one bound, and up to the other. */
const within = (value: number, above: number, most: number) =>
  value > above ? Math.min(most, value) : above + LEAST

/** The policy in the view's words; `approximate` where they do not say all of it. */
export function viewOf(policy: RetryPolicy): View & { approximate?: true } {
  const { backoffType, jitterType, jitterAmount, retryStatusCodes, totalTimeout } = policy
  const jitter = jitterType !== 'none'
  const codes = retryStatusCodes ?? STATUSES
  const timed = totalTimeout != null && Number.isFinite(totalTimeout)
  const view: View = {
    max_attempts: Math.min(policy.maxAttempts, 10),
    backoff_strategy:
      backoffType === 'linear' || backoffType === 'exponential'
        ? backoffType
        : backoffType === 'fibonacci'
          ? 'exponential'
          : 'fixed',
    base_delay: backoffType === 'immediate' ? LEAST : within(policy.baseDelay / 1000, 0, 60),
    multiplier: within(policy.multiplier, 1, 10),
    max_backoff_delay: within(policy.maxDelay / 1000, 0, 300),
    jitter,
    retry_status_codes: codes.filter((code) => code >= 500 && code <= 599),
    timeout: timed ? Math.max(LEAST, totalTimeout / 1000) : null,
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
const ms = (seconds: number) => Math.round(seconds * 1e6) / 1e3 || seconds * 1000

/** What the view means for the policy. */
function policyOf(view: View): Partial<RetryPolicy> & { id: string } {
  const maxDelay = ms(view.max_backoff_delay)
  return {
    id: DEFAULT,
    maxAttempts: view.max_attempts,
    backoffType: view.backoff_strategy,
    // A delay never exceeds the cap, so a base above it is the cap.
    baseDelay: Math.min(ms(view.base_delay), maxDelay),
    multiplier: view.multiplier,
    maxDelay,
    jitterType: view.jitter ? 'proportional' : 'none',
    jitterAmount: view.jitter ? 0.5 : 0.1,
    retryStatusCodes: view.retry_status_codes,
    totalTimeout: view.timeout === null ? null : ms(view.timeout),
    retryNonIdempotent: view.retry_non_idempotent,
  }
}

/** The default policy as proxy rotators know it. */
export function defaultPolicy({ hf, operation }: Routes): void {
  const inOrder = oneAtATime()
  const answer = async () => {
    const view = viewOf(await hf.policies.get(DEFAULT))
    return { ...view, updated_at: (await hf.config.changedAt(DEFAULT)).toISOString() }
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
      answers: { 200: { description: 'The default policy', schema: answerSchema }, ...UNCHANGED },
    },
    async () => {
      const body = await answer()
      return { body, headers: { etag: etagOf(body) } }
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
        demand(headers, await answer())
        await hf.policies.put(policyOf(body), by)
        const now = await answer()
        return { body: now, headers: { etag: etagOf(now) } }
      }),
  )
}
