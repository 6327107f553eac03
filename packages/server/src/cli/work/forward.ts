import {
  type ProxyCall,
  ProxyConnectionError,
  type ProxyGuard,
  type ProxyServer,
  startProxy,
} from '@holdfast/proxy'
import type { CallOptions, Holdfast, RetryPolicy } from '@holdfast/runtime'
import type { Attempt, Pool, RetryOptions, RunOptions } from 'holdfast'

/** What the proxy's calls are to the config. */
const OPERATION = 'proxy'

/** Runs the proxy's calls under the rules of the config, so that they are counted and recorded as all others are. */
function guardOf(hf: Holdfast, pool: string | undefined, call: ProxyCall): ProxyGuard {
  const id = call.policy ?? (pool === undefined ? undefined : hf.config.current.pools?.[pool]?.policy)
  /** The policy as it is in force. */
  const record = async (): Promise<RetryPolicy> => {
    if (id !== undefined) return hf.policies.get(id)
    const policies = await hf.policies.list()
    return policies.find((policy) => policy.id === OPERATION) ?? hf.policies.get('default')
  }
  /** What is different for this call: a tunnel that names no policy goes to everybody, and some requests must not go twice. */
  const retryFor = async (given: RunOptions['retry']): Promise<RetryOptions | false | undefined> => {
    if (call.kind === 'tunnel' && call.policy === undefined && pool !== undefined)
      return untilOneStands(await record(), hf.pools.get(pool).size)
    return given
      ? { ...given, abortOn: [...((await record()).abortExceptions ?? []), ...(given.abortOn ?? [])] }
      : given
  }
  return {
    async run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
      const { method, host, context, user } = call
      const given: CallOptions = {
        name: `proxy ${host}`,
        context: { method, host, ...context, ...(user && { user }) },
        signal: options?.signal,
        retry: await retryFor(options?.retry),
        ...(pool === undefined ? {} : { pool }),
        ...(id === undefined ? {} : { policy: id }),
      }
      return hf.run(OPERATION, (attempt) => fn(attempt as Attempt), given)
    },
    retryNonIdempotent: async () => (await record()).retryNonIdempotent,
  }
}

/** How often a tunnel is asked for at the most where there are fewer members: without waits, more would be a storm. */
const TUNNEL_ATTEMPTS = 10

/** For a tunnel: nothing is sent before it stands, so that every member may be asked, and at once. */
const untilOneStands = ({ maxAttempts }: RetryPolicy, size: number): RetryOptions => ({
  maxAttempts: Math.max(size, Math.min(maxAttempts, TUNNEL_ATTEMPTS)),
  backoffType: 'immediate',
  retryOn: ['transient', ProxyConnectionError],
  respectRetryAfter: false,
})

/** Where the forward proxy listens, where that is not what the file says. */
export interface ForwardOptions {
  host?: string
  port?: number
  pool?: string
}

/** Starts the forward proxy that the config describes. */
export function startForward(hf: Holdfast, options: ForwardOptions = {}): Promise<ProxyServer> {
  const said = hf.config.current.proxy ?? {}
  const { pool = said.pool, host = said.host ?? '127.0.0.1', port = said.port ?? 8080 } = options
  return startProxy({
    host,
    port,
    guard: (call) => guardOf(hf, pool, call),
    allowPrivateTargets: said.allowPrivateTargets ?? false,
    ...(pool === undefined ? {} : { pool: hf.pools.get(pool) as Pool<unknown> }),
    ...(said.users === undefined ? {} : { users: said.users }),
    ...(said.maxConnections === undefined ? {} : { maxConnections: said.maxConnections }),
    ...(said.idleTimeout === undefined ? {} : { idleTimeout: said.idleTimeout }),
    ...(said.connectPorts === undefined ? {} : { connectPorts: said.connectPorts }),
    ...(said.maxHeaderSize === undefined ? {} : { maxHeaderSize: said.maxHeaderSize }),
  })
}
