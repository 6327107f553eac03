import { classify, type GuardOptions, guard, HoldfastError, type Pool, type RetryOptions } from 'holdfast'
import {
  createOptionsError,
  isRetryableStatus,
  type OptionProblem,
  type OptionSpecOf,
  ofType,
  parseOptions,
  RETRYABLE_STATUS_ARRAY,
} from 'holdfast/internal'
import { proxies } from 'holdfast/presets'
import { ProxyConnectionError } from '../errors.js'
import type { ProxyCall, ProxyGuard, ProxyPolicy, ProxyRetryOptions, ProxySettings } from './options.js'
import { StatusFailure } from './upstream-response.js'

/** Delays are short, because the next attempt uses another proxy. */
const REQUEST_GUARD_OPTIONS: GuardOptions = {
  ...proxies,
  retry: { ...proxies.retry, baseDelay: 100, maxDelay: 2000, jitterType: 'full', jitterAmount: 1 },
}

/** The minimum number of attempts of a tunnel, so that members of a small pool are tried again after a short failure. */
const MIN_TUNNEL_ATTEMPTS = 10

/** Nothing is sent before a tunnel is open, so every member can be tried without a delay. */
const TUNNEL_GUARD_OPTIONS: GuardOptions = {
  ...REQUEST_GUARD_OPTIONS,
  retry: {
    maxAttempts: MIN_TUNNEL_ATTEMPTS,
    backoffType: 'immediate',
    respectRetryAfter: false,
    retryOn: ['transient', ProxyConnectionError],
  },
}

/** Without a pool only the target itself can be tried, so there are fewer attempts. */
const DIRECT_GUARD_OPTIONS: GuardOptions = {
  ...TUNNEL_GUARD_OPTIONS,
  retry: { ...TUNNEL_GUARD_OPTIONS.retry, maxAttempts: 3 },
}

/** Creates the function that selects the guard of a call: the custom guard, or one of `policies` and the defaults. */
export function createGuardSelector({
  pool,
  policies,
  guard: customGuard,
  clock,
}: ProxySettings): (call: ProxyCall) => ProxyGuard {
  if (customGuard !== undefined) return customGuard
  const createFor = (policy: ProxyPolicy): ProxyGuard =>
    createPolicyGuard({ clock, ...policy, ...(pool && { pool: pool as Pool }) })
  const requests = createFor(REQUEST_GUARD_OPTIONS)
  const tunnels =
    pool === undefined
      ? createFor(DIRECT_GUARD_OPTIONS)
      : tryEveryMember(createFor(TUNNEL_GUARD_OPTIONS), pool)
  const named = new Map(
    Object.entries(policies).map(([id, policy]) => [id, createFor({ name: id, ...policy })]),
  )
  return ({ policy, kind }) => {
    if (policy === undefined) return kind === 'tunnel' ? tunnels : requests
    const found = named.get(policy)
    if (found === undefined)
      throw new HoldfastError('POLICY_NOT_FOUND', `policy ${JSON.stringify(policy.slice(0, 40))} not found`)
    return found
  }
}

/** Allows a call as many attempts as the pool has members. */
const tryEveryMember = (tunnels: ProxyGuard, pool: Pool): ProxyGuard => ({
  run: (fn, options) =>
    pool.size <= MIN_TUNNEL_ATTEMPTS
      ? tunnels.run(fn, options)
      : tunnels.run(fn, { ...options, retry: { ...options?.retry, maxAttempts: pool.size } }),
})

/** Creates the guard of a policy. The errors that a call must not repeat are added to those of the policy. */
function createPolicyGuard({ retry: input, ...rest }: ProxyPolicy): ProxyGuard {
  const { retryNonIdempotent, ...retry } =
    input === undefined || input === false ? {} : withStatusMatchers(input)
  const policyGuard = guard({
    ...rest,
    ...(input !== undefined && { retry: input === false ? false : retry }),
  })
  const { abortOn: own = [] } = retry
  return {
    run(fn, options) {
      const callRetry = options?.retry === undefined || options.retry === false ? undefined : options.retry
      if (callRetry?.abortOn === undefined || own.length === 0) return policyGuard.run(fn, options)
      return policyGuard.run(fn, {
        ...options,
        retry: { ...callRetry, abortOn: [...own, ...callRetry.abortOn] },
      })
    },
    ...(retryNonIdempotent !== undefined && { retryNonIdempotent: () => retryNonIdempotent }),
  }
}

/** The retry options of HTTP, which a guard does not have. */
const HTTP_RETRY_SPEC = {
  retryStatusCodes: [
    undefined,
    [RETRYABLE_STATUS_ARRAY, (codes: unknown) => Array.isArray(codes) && codes.every(isRetryableStatus)],
  ],
  retryNonIdempotent: [undefined, ofType('boolean')],
} satisfies OptionSpecOf<Pick<ProxyRetryOptions, 'retryStatusCodes' | 'retryNonIdempotent'>>

/** Converts `retryStatusCodes` to matchers of a guard: only the listed statuses are retried. */
function withStatusMatchers({ retryStatusCodes: codes, ...retry }: ProxyRetryOptions): ProxyRetryOptions {
  const { retryNonIdempotent, retryOn, abortOn = [] } = retry
  const problems: OptionProblem[] = []
  parseOptions('retry', { retryStatusCodes: codes, retryNonIdempotent }, {}, HTTP_RETRY_SPEC, problems)
  if (problems.length > 0) throw createOptionsError('invalid proxy policy', problems)
  if (codes === undefined) return retry
  const isListedStatus = (error: unknown): boolean =>
    error instanceof StatusFailure && codes.includes(error.status)
  const isUnlistedStatus = (error: unknown): boolean =>
    error instanceof StatusFailure && !codes.includes(error.status)
  const others: RetryOptions['retryOn'] = retryOn ?? [(error) => classify(error).category === 'transient']
  return { ...retry, retryOn: [isListedStatus, ...others], abortOn: [...abortOn, isUnlistedStatus] }
}
