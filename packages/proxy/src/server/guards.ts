import { classify, type GuardOptions, guard, HoldfastError, type Pool, type RetryOptions } from 'holdfast'
import { proxies } from 'holdfast/presets'
import { invalid, ProxyConnectionError } from '../errors.js'
import { StatusFailure } from './answer.js'
import type { ProxyCall, ProxyGuard, ProxyPolicy, ProxyRetryOptions, ProxySettings } from './options.js'

/** The next proxy is not the one that failed, so that waits are short. */
const REQUESTS: GuardOptions = {
  ...proxies,
  retry: { ...proxies.retry, baseDelay: 100, maxDelay: 2000, jitterType: 'full', jitterAmount: 1 },
}

/** How often a tunnel is asked for at least: a second time of members that failed for a moment. */
const TUNNEL_ATTEMPTS = 10

/** Nothing is sent before a tunnel stands: there is no harm in asking everybody, and no use in waiting. */
const TUNNELS: GuardOptions = {
  ...REQUESTS,
  retry: {
    maxAttempts: TUNNEL_ATTEMPTS,
    backoffType: 'immediate',
    respectRetryAfter: false,
    retryOn: ['transient', ProxyConnectionError],
  },
}

/** Where there is nobody else to ask, the target is not asked as often. */
const DIRECT: GuardOptions = { ...TUNNELS, retry: { ...TUNNELS.retry, maxAttempts: 3 } }

/** Gives the guard for each call: the caller's own, or one made of `policies` and the defaults. */
export function guardsOf({
  pool,
  policies,
  guard: given,
  clock,
}: ProxySettings): (call: ProxyCall) => ProxyGuard {
  if (given !== undefined) return given
  const make = (policy: ProxyPolicy): ProxyGuard =>
    guardOf({ clock, ...policy, ...(pool && { pool: pool as Pool }) })
  const requests = make(REQUESTS)
  const tunnels = pool === undefined ? make(DIRECT) : untilOneStands(make(TUNNELS), pool)
  const named = new Map(Object.entries(policies).map(([id, policy]) => [id, make({ name: id, ...policy })]))
  return ({ policy, kind }) => {
    if (policy === undefined) return kind === 'tunnel' ? tunnels : requests
    const found = named.get(policy)
    if (found === undefined)
      throw new HoldfastError('POLICY_NOT_FOUND', `policy ${JSON.stringify(policy.slice(0, 40))} not found`)
    return found
  }
}

/** Lets a call go to as many members as there are. */
const untilOneStands = (tunnels: ProxyGuard, pool: Pool): ProxyGuard => ({
  run: (fn, options) =>
    pool.size <= TUNNEL_ATTEMPTS
      ? tunnels.run(fn, options)
      : tunnels.run(fn, { ...options, retry: { ...options?.retry, maxAttempts: pool.size } }),
})

/** A guard of a policy, to which what a call must not repeat comes besides what the policy does not. */
function guardOf({ retry: given, ...rest }: ProxyPolicy): ProxyGuard {
  const { retryNonIdempotent, ...retry } = given === undefined || given === false ? {} : byStatus(given)
  const made = guard({ ...rest, ...(given !== undefined && { retry: given === false ? false : retry }) })
  const { abortOn: own = [] } = retry
  return {
    run(fn, options) {
      const more = options?.retry === undefined || options.retry === false ? undefined : options.retry
      if (more?.abortOn === undefined || own.length === 0) return made.run(fn, options)
      return made.run(fn, { ...options, retry: { ...more, abortOn: [...own, ...more.abortOn] } })
    },
    ...(retryNonIdempotent !== undefined && { retryNonIdempotent: () => retryNonIdempotent }),
  }
}

/** The same in the words of a guard: statuses that are listed are retried, and no others. */
function byStatus({ retryStatusCodes: codes, ...retry }: ProxyRetryOptions): ProxyRetryOptions {
  const { retryNonIdempotent, retryOn, abortOn = [] } = retry
  const problems: string[] = []
  if (codes !== undefined && !(Array.isArray(codes) && codes.every(isRepeatable)))
    problems.push('retry.retryStatusCodes: expected an array of 408, 425, 429 and statuses from 500 to 599')
  if (retryNonIdempotent !== undefined && typeof retryNonIdempotent !== 'boolean')
    problems.push('retry.retryNonIdempotent: expected true or false')
  if (problems.length > 0) throw invalid('invalid proxy policy', problems)
  if (codes === undefined) return retry
  const listed = (error: unknown): boolean => error instanceof StatusFailure && codes.includes(error.status)
  const unlisted = (error: unknown): boolean =>
    error instanceof StatusFailure && !codes.includes(error.status)
  const others: RetryOptions['retryOn'] = retryOn ?? [(error) => classify(error).category === 'transient']
  return { ...retry, retryOn: [listed, ...others], abortOn: [...abortOn, unlisted] }
}

const isRepeatable = (status: unknown): boolean =>
  typeof status === 'number' && ([408, 425, 429].includes(status) || Math.floor(status / 100) === 5)
