import { type GuardOptions, guard, HoldfastError, type Pool } from 'holdfast'
import { proxies } from 'holdfast/presets'
import type { ProxyCall, ProxyGuard, ProxySettings } from './options.js'

/** The next proxy is not the one that failed, so that waits are short. */
const REQUESTS: GuardOptions = {
  ...proxies,
  retry: { ...proxies.retry, baseDelay: 100, maxDelay: 2000, jitterType: 'full', jitterAmount: 1 },
}

/** Nothing is sent before a tunnel stands: there is no harm in asking many, and no use in waiting. */
const TUNNELS: GuardOptions = {
  ...REQUESTS,
  retry: { ...REQUESTS.retry, maxAttempts: 10, backoffType: 'immediate' },
}

/** Gives the guard for each call: the caller's own, or one made of `policies` and the defaults. */
export function guardsOf({
  pool,
  policies,
  guard: given,
  clock,
}: ProxySettings): (call: ProxyCall) => ProxyGuard {
  if (given !== undefined) return given
  const make = (options: GuardOptions): ProxyGuard =>
    guard({ clock, ...options, ...(pool && { pool: pool as Pool }) })
  const requests = make(REQUESTS)
  const tunnels = make(TUNNELS)
  const named = new Map(Object.entries(policies).map(([id, options]) => [id, make({ name: id, ...options })]))
  return ({ policy, kind }) => {
    if (policy === undefined) return kind === 'tunnel' ? tunnels : requests
    const found = named.get(policy)
    if (found === undefined)
      throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(policy.slice(0, 40))}`)
    return found
  }
}
