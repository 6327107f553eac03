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
const PROXY_OPERATION = 'proxy'

/** Runs a call of the proxy under the rules of the config, so that it is counted and recorded as all others are. */
class ConfiguredGuard implements ProxyGuard {
  private readonly hf: Holdfast
  private readonly pool: string | undefined
  private readonly call: ProxyCall
  /** The policy that the call or its pool names. */
  private readonly policy: string | undefined

  constructor(hf: Holdfast, pool: string | undefined, call: ProxyCall) {
    this.hf = hf
    this.pool = pool
    this.call = call
    this.policy = call.policy ?? (pool === undefined ? undefined : hf.config.current.pools?.[pool]?.policy)
  }

  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    const { hf, pool, policy, call } = this
    const { method, host, context, user } = call
    const input: CallOptions = {
      name: `proxy ${host}`,
      context: { method, host, ...context, ...(user && { user }) },
      signal: options.signal,
      ...(pool === undefined ? {} : { pool }),
      ...(policy === undefined ? {} : { policy }),
    }
    const run = (retry?: RetryOptions | false): Promise<T> =>
      hf.run(
        PROXY_OPERATION,
        fn as (attempt: unknown) => T | PromiseLike<T>,
        retry === undefined ? input : { ...input, retry },
      )
    // A tunnel that names no policy goes to everybody.
    if (call.kind === 'tunnel' && call.policy === undefined && pool !== undefined)
      return this.record().then((record) => run(retryEveryMember(record, hf.pools.get(pool).size)))
    const { retry } = options
    if (!retry) return run(retry)
    // What the call must not repeat comes besides what the policy does not.
    return this.record().then(({ abortExceptions }) =>
      run({ ...retry, abortOn: [...(abortExceptions ?? []), ...(retry.abortOn ?? [])] }),
    )
  }

  async retryNonIdempotent(): Promise<boolean> {
    return (await this.record()).retryNonIdempotent
  }

  /** The policy as it is in force. */
  private async record(): Promise<RetryPolicy> {
    const { hf, policy } = this
    if (policy !== undefined) return hf.policies.get(policy)
    const policies = await hf.policies.list()
    return policies.find(({ id }) => id === PROXY_OPERATION) ?? hf.policies.get('default')
  }
}

/** How often a tunnel is asked for at the most where there are fewer members: without waits, more would be a storm. */
const TUNNEL_ATTEMPTS = 10

/** For a tunnel: nothing is sent before it stands, so that every member may be asked, and at once. */
const retryEveryMember = ({ maxAttempts }: RetryPolicy, size: number): RetryOptions => ({
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
export function startForwardProxy(hf: Holdfast, options: ForwardOptions = {}): Promise<ProxyServer> {
  const said = hf.config.current.proxy ?? {}
  const { pool = said.pool, host = said.host ?? '127.0.0.1', port = said.port ?? 8080 } = options
  return startProxy({
    host,
    port,
    guard: (call) => new ConfiguredGuard(hf, pool, call),
    allowPrivateTargets: said.allowPrivateTargets ?? false,
    ...(pool === undefined ? {} : { pool: hf.pools.get(pool) as Pool<unknown> }),
    ...(said.users === undefined ? {} : { users: said.users }),
    ...(said.maxConnections === undefined ? {} : { maxConnections: said.maxConnections }),
    ...(said.idleTimeout === undefined ? {} : { idleTimeout: said.idleTimeout }),
    ...(said.connectPorts === undefined ? {} : { connectPorts: said.connectPorts }),
    ...(said.maxHeaderSize === undefined ? {} : { maxHeaderSize: said.maxHeaderSize }),
    ...(said.workers === undefined ? {} : { workers: said.workers }),
  })
}
