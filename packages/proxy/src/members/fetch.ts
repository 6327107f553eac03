import type { Pool } from 'holdfast'
import { createFetch, type FetchOptions, type ResilientFetch } from 'holdfast/http'
import type { ProxyUpstream } from '../connect/upstream.js'
import { UpstreamPool } from './upstream-pool.js'

/** The options of `createProxyFetch`: those of `createFetch` without the pool, which is a separate argument. */
export type ProxyFetchOptions = Omit<FetchOptions, 'pool'>

/**
 * Creates a `fetch` that sends each attempt through a member of a pool of proxies: plain HTTP in absolute form to HTTP
 * proxies, everything else through tunnels, over keep-alive connections. Members are created by `proxyMember`, or belong to a
 * pool of a runtime, whose values have a `url`. Everything else is as in `createFetch`.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options
 *
 * @example
 * ```ts
 * import { createProxyFetch, proxyPool } from '@holdfast/proxy'
 *
 * const pool = proxyPool({ id: 'proxies', members: ['http://user:secret@127.0.0.1:9'] })
 * const get = createProxyFetch(pool, { retry: { maxAttempts: 2, backoffType: 'immediate' } })
 * const error = await get('http://example.com/').catch((e) => e)
 * error.cause.code // => 'ECONNREFUSED'
 * ```
 */
export function createProxyFetch(
  pool: Pool<ProxyUpstream> | Pool<{ readonly url: string }> | Pool,
  options: ProxyFetchOptions = {},
): ResilientFetch {
  return createFetch({ ...options, pool: new UpstreamPool(pool as Pool) })
}
