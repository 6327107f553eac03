import { classify, type GuardOptions, guard, HoldfastError, type Pool, type RetryOptions } from 'holdfast'
import { proxies } from 'holdfast/presets'
import { createOptionsError, ProxyConnectionError } from '../errors.js'
import type { ProxyCall, ProxyGuard, ProxyPolicy, ProxyRetryOptions, ProxySettings } from './options.js'
import { StatusFailure } from './upstream-response.js'

/** The next proxy is not the one that failed, so that waits are short. */
const REQUEST_GUARD_OPTIONS: GuardOptions = {
  ...proxies,
  retry: { ...proxies.retry, baseDelay: 100, maxDelay: 2000, jitterType: 'full', jitterAmount: 1 },
}

/** How often a tunnel is asked for at least: a second time of members that failed for a moment. */
const MIN_TUNNEL_ATTEMPTS = 10

/** Nothing is sent before a tunnel stands: there is no harm in asking everybody, and no use in waiting. */
const TUNNEL_GUARD_OPTIONS: GuardOptions = {
  ...REQUEST_GUARD_OPTIONS,
  retry: {
    maxAttempts: MIN_TUNNEL_ATTEMPTS,
    backoffType: 'immediate',
    respectRetryAfter: false,
    retryOn: ['transient', ProxyConnectionError],
  },
}

/** Where there is nobody else to ask, the target is not asked as often. */
const DIRECT_GUARD_OPTIONS: GuardOptions = {
  ...TUNNEL_GUARD_OPTIONS,
  retry: { ...TUNNEL_GUARD_OPTIONS.retry, maxAttempts: 3 },
}

/** Gives the guard for each call: the caller's own, or one made of `policies` and the defaults. */
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

/** Lets a call go to as many members as there are. */
const tryEveryMember = (tunnels: ProxyGuard, pool: Pool): ProxyGuard => ({
  run: (fn, options) =>
    pool.size <= MIN_TUNNEL_ATTEMPTS
      ? tunnels.run(fn, options)
      : tunnels.run(fn, { ...options, retry: { ...options?.retry, maxAttempts: pool.size } }),
})

/** A guard of a policy, to which what a call must not repeat comes besides what the policy does not. */
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
      const more = options?.retry === undefined || options.retry === false ? undefined : options.retry
      if (more?.abortOn === undefined || own.length === 0) return policyGuard.run(fn, options)
      return policyGuard.run(fn, { ...options, retry: { ...more, abortOn: [...own, ...more.abortOn] } })
    },
    ...(retryNonIdempotent !== undefined && { retryNonIdempotent: () => retryNonIdempotent }),
  }
}

/** The same in the words of a guard: statuses that are listed are retried, and no others. */
function withStatusMatchers({ retryStatusCodes: codes, ...retry }: ProxyRetryOptions): ProxyRetryOptions {
  const { retryNonIdempotent, retryOn, abortOn = [] } = retry
  const problems: string[] = []
  if (codes !== undefined && !(Array.isArray(codes) && codes.every(isRetryableStatus)))
    problems.push('retry.retryStatusCodes: expected an array of 408, 425, 429 and statuses from 500 to 599')
  if (retryNonIdempotent !== undefined && typeof retryNonIdempotent !== 'boolean')
    problems.push('retry.retryNonIdempotent: expected true or false')
  if (problems.length > 0) throw createOptionsError('invalid proxy policy', problems)
  if (codes === undefined) return retry
  const isListedStatus = (error: unknown): boolean =>
    error instanceof StatusFailure && codes.includes(error.status)
  const isUnlistedStatus = (error: unknown): boolean =>
    error instanceof StatusFailure && !codes.includes(error.status)
  const others: RetryOptions['retryOn'] = retryOn ?? [(error) => classify(error).category === 'transient']
  return { ...retry, retryOn: [isListedStatus, ...others], abortOn: [...abortOn, isUnlistedStatus] }
}

const isRetryableStatus = (status: unknown): boolean =>
  typeof status === 'number' && ([408, 425, 429].includes(status) || Math.floor(status / 100) === 5)
