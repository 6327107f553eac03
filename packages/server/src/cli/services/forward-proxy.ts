import {
  type ProxyCall,
  ProxyConnectionError,
  type ProxyGuard,
  type ProxyServer,
  startProxy,
} from '@holdfast/proxy'
import { PROXY_DEFAULTS } from '@holdfast/proxy/internal'
import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import type { CallOptions, Holdfast, RetryPolicy } from '@holdfast/runtime'
import type { Attempt, Pool, RetryOptions, RunOptions } from 'holdfast'

/** The operation of calls of the forward proxy. */
const PROXY_OPERATION = 'proxy'

/** Runs the calls of the proxy with the policies of the config, so that they are counted and recorded like all others. */
class RuntimeProxyGuard implements ProxyGuard {
  private readonly hf: Holdfast
  private readonly pool: string | undefined
  private readonly call: ProxyCall
  /** The policy of the call, else that of its pool. */
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
    // A tunnel without a policy is attempted through every member.
    if (call.kind === 'tunnel' && call.policy === undefined && pool !== undefined)
      return this.resolvePolicy().then((record) => run(retryEveryMember(record, hf.pools.get(pool).size)))
    const { retry } = options
    if (!retry) return run(retry)
    // The errors that the call must not repeat are added to those of the policy.
    return this.resolvePolicy().then(({ abortExceptions }) =>
      run({ ...retry, abortOn: [...(abortExceptions ?? []), ...(retry.abortOn ?? [])] }),
    )
  }

  async retryNonIdempotent(): Promise<boolean> {
    return (await this.resolvePolicy()).retryNonIdempotent
  }

  /** The policy with all its values. */
  private async resolvePolicy(): Promise<RetryPolicy> {
    const { hf, policy } = this
    if (policy !== undefined) return hf.policies.get(policy)
    const policies = await hf.policies.list()
    return policies.find(({ id }) => id === PROXY_OPERATION) ?? hf.policies.get(DEFAULT_POLICY_ID)
  }
}

/** The maximum attempts of a tunnel in a small pool. Attempts follow without a delay, so more would overload the members. */
const TUNNEL_ATTEMPTS = 10

/** The retry options of a tunnel. Nothing is sent before it is open, so every member can be tried without a delay. */
const retryEveryMember = ({ maxAttempts }: RetryPolicy, size: number): RetryOptions => ({
  maxAttempts: Math.max(size, Math.min(maxAttempts, TUNNEL_ATTEMPTS)),
  backoffType: 'immediate',
  retryOn: ['transient', ProxyConnectionError],
  respectRetryAfter: false,
})

/** Options of the forward proxy that override the config file. */
export interface ForwardOptions {
  host?: string
  port?: number
  pool?: string
}

/** Starts the forward proxy that the config describes. */
export function startForwardProxy(hf: Holdfast, options: ForwardOptions = {}): Promise<ProxyServer> {
  const fileOptions = hf.config.current.proxy ?? {}
  const {
    pool = fileOptions.pool,
    host = fileOptions.host ?? PROXY_DEFAULTS.host,
    port = fileOptions.port ?? PROXY_DEFAULTS.port,
  } = options
  return startProxy({
    host,
    port,
    guard: (call) => new RuntimeProxyGuard(hf, pool, call),
    allowPrivateTargets: fileOptions.allowPrivateTargets ?? false,
    ...(pool === undefined ? {} : { pool: hf.pools.get(pool) as Pool<unknown> }),
    ...(fileOptions.users === undefined ? {} : { users: fileOptions.users }),
    ...(fileOptions.maxConnections === undefined ? {} : { maxConnections: fileOptions.maxConnections }),
    ...(fileOptions.idleTimeout === undefined ? {} : { idleTimeout: fileOptions.idleTimeout }),
    ...(fileOptions.connectPorts === undefined ? {} : { connectPorts: fileOptions.connectPorts }),
    ...(fileOptions.maxHeaderSize === undefined ? {} : { maxHeaderSize: fileOptions.maxHeaderSize }),
    ...(fileOptions.workers === undefined ? {} : { workers: fileOptions.workers }),
  })
}
