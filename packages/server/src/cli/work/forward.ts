import { type ProxyCall, type ProxyGuard, type ProxyServer, startProxy } from '@holdfast/proxy'
import type { CallOptions, Holdfast } from '@holdfast/runtime'
import type { Attempt, Pool, RunOptions } from 'holdfast'

/** A failure after which a request may have arrived, so that it must not be sent again. */
class RequestBegun extends Error {
  override readonly name = 'RequestBegun'
}

type Predicates = readonly ((error: unknown) => boolean)[]

/** Whether the proxy asks for this failure to be final. */
const isFinal = (options: RunOptions | undefined, error: unknown): boolean =>
  ((options?.retry as { abortOn?: Predicates } | undefined)?.abortOn ?? []).some((abort) => abort(error))

/** Runs the proxy's calls under the rules of the config, so that they are counted and recorded as all others are. */
function guardOf(hf: Holdfast, pool: string | undefined, call: ProxyCall): ProxyGuard {
  return {
    async run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
      const final = options?.retry !== undefined
      const given: CallOptions = {
        name: `proxy ${call.host}`,
        context: {
          method: call.method,
          host: call.host,
          ...call.context,
          ...(call.user && { user: call.user }),
        },
        signal: options?.signal,
        ...(pool === undefined ? {} : { pool }),
        ...policyOf(hf, pool, call, final),
      }
      try {
        return await hf.run(
          'proxy',
          async (attempt) => {
            try {
              return await fn(attempt as Attempt)
            } catch (error) {
              if (!isFinal(options, error)) throw error
              throw new RequestBegun((error as Error).message, { cause: error })
            }
          },
          given,
        )
      } catch (error) {
        throw error instanceof RequestBegun ? error.cause : error
      }
    },
  }
}

/** The policy of a call: the client's, else the pool's. Where a failure may be final, the policy must know its name. */
function policyOf(
  hf: Holdfast,
  pool: string | undefined,
  { policy }: ProxyCall,
  final: boolean,
): Pick<CallOptions, 'policy'> {
  const id = policy ?? (pool === undefined ? undefined : hf.config.current.pools?.[pool]?.policy)
  if (!final) return id === undefined ? {} : { policy: id }
  return { policy: { ...(id === undefined ? {} : { id }), abortExceptions: ['RequestBegun'] } }
}

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
  const repeats = ({ policy }: ProxyCall): boolean => {
    const id =
      policy ?? (pool === undefined ? undefined : hf.config.current.pools?.[pool]?.policy) ?? 'default'
    return hf.config.current.policies?.[id]?.retryNonIdempotent ?? false
  }
  return startProxy({
    host,
    port,
    guard: (call) => guardOf(hf, pool, call),
    retryNonIdempotent: repeats,
    allowPrivateTargets: said.allowPrivateTargets ?? false,
    ...(pool === undefined ? {} : { pool: hf.pools.get(pool) as Pool<unknown> }),
    ...(said.users === undefined ? {} : { users: said.users }),
    ...(said.maxConnections === undefined ? {} : { maxConnections: said.maxConnections }),
    ...(said.idleTimeout === undefined ? {} : { idleTimeout: said.idleTimeout }),
  })
}
