import type { PooledAttempt } from '../attempt/attempt.js'
import type { Classification } from '../classify/classification.js'
import type { Executed } from '../execution/call.js'
import type { Fallback } from '../fallback/fallback.js'
import type { ExecutorOptions, GuardExecutor } from '../guard/guard-executor.js'
import type { GuardSettings, TimeoutOptions } from '../guard/options.js'
import type { CompiledRetryPolicy, FetchRetryOptions } from '../retry/options.js'
import { attachSession } from '../session/session.js'
import type { FetchInit } from './create-fetch.js'
import { FetchExecution, hasTimeout } from './fetch-execution.js'
import { type FetchFunction, type HttpRetryRules, mergeRequestPolicy, type RequestPolicy } from './options.js'
import type { ReplayableRequest } from './replay-safe-pool.js'
import {
  type RequestExecution,
  RequestExecutor,
  type RequestRunner,
  withReplayRule,
} from './request-executor.js'
import { toRetryPolicy } from './retry-policy.js'
import type { FetchInput } from './target.js'

/** The settings of requests, from the configuration of the host. */
export interface HostedOperation {
  readonly settings: GuardSettings
  readonly executorOptions: ExecutorOptions
  /** The policy of the first attempt. */
  readonly policy: RequestPolicy
  /** The policy for a failure, before the options of the request. */
  policyFor(classification: Classification | undefined): RequestPolicy
}

/** The call of one request, which the host runs. */
export interface HostedCall<T> {
  /** The guard of the request, with the settings of its operation. */
  readonly guard: GuardExecutor
  readonly fn: (attempt: PooledAttempt<never>) => T | PromiseLike<T>
  readonly context: object
  readonly signal: AbortSignal | undefined
  /** The options of the request that replace those of its policies. */
  readonly retry: FetchRetryOptions | false | undefined
  readonly timeout: TimeoutOptions | false | undefined
  readonly fallback: Fallback | undefined
  /**
   * Adds the rules of HTTP to a policy: which statuses are retried, and which requests must not be sent again. `rules` are those
   * of the policy, before the options of the request.
   */
  toRequestPolicy(policy: CompiledRetryPolicy, rules: HttpRetryRules): CompiledRetryPolicy
}

/** The request of a fetch, as it is sent. */
export type HostedRequest = Pick<FetchExecution, 'method' | 'input' | 'headers' | 'body'>

/** A layer above the guard, such as the runtime, that supplies the settings of requests and runs their calls. */
export interface RequestHost {
  /** The operation under the configuration that is in force now; the same object while that does not change. */
  operation(): HostedOperation
  /** Runs the attempts of a request that an interceptor sends. */
  run<T>(call: HostedCall<T>): Promise<T>
  /** Runs the attempts of a request of a fetch, and resolves to its response and its session. */
  execute<T>(call: HostedCall<T>, request: HostedRequest): Promise<Executed<T>>
}

/** The overrides of one request. */
type RequestOverrides = Pick<HostedCall<unknown>, 'retry' | 'timeout' | 'fallback'>

const executors = new WeakMap<HostedOperation, RequestExecutor>()

function executorFor(operation: HostedOperation): RequestExecutor {
  const { settings, executorOptions } = operation
  const executor = executors.get(operation) ?? new RequestExecutor(settings, executorOptions)
  executors.set(operation, executor)
  return executor
}

/** Runs one request as a call of the host. */
export class HostedRunner implements RequestRunner {
  readonly settings: GuardSettings
  /** The host can cancel a call at any time. */
  readonly canAbortAttempts = true
  private readonly run: RequestHost['run']
  private readonly executor: RequestExecutor
  private readonly operation: HostedOperation
  private readonly overrides: RequestOverrides
  /** Aborts a request that has no signal of its own. */
  private readonly controller: AbortController | undefined

  constructor(
    run: RequestHost['run'],
    operation: HostedOperation,
    overrides: RequestOverrides,
    controller?: AbortController,
  ) {
    this.run = run
    this.executor = executorFor(operation)
    this.settings = operation.settings
    this.operation = operation
    this.overrides = overrides
    this.controller = controller
  }

  canAbortWith(): boolean {
    return true
  }

  classify(error: unknown): ReturnType<RequestRunner['classify']> {
    return this.executor.classify(error)
  }

  policyFor(classification: Classification | undefined): RequestPolicy {
    const policy = this.withOverrides(this.operation.policyFor(classification))
    return { rules: policy.rules, retry: toRetryPolicy(policy) }
  }

  /** A policy with the retry options of the request. */
  private withOverrides(policy: RequestPolicy): RequestPolicy {
    const { retry } = this.overrides
    return retry === undefined ? policy : mergeRequestPolicy(retry, policy)
  }

  createExecution<T, M>(
    request: ReplayableRequest,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    _: CompiledRetryPolicy,
    isHedgeable: boolean,
  ): RequestExecution<T> {
    const { run, executor, overrides, controller } = this
    const call: HostedCall<T> = {
      ...overrides,
      guard: executor.executorFor(request, isHedgeable),
      fn: send as unknown as HostedCall<T>['fn'],
      context: request.context,
      signal: request.signal ?? controller?.signal,
      toRequestPolicy: (retry, policyRules) => {
        const { rules } = this.withOverrides({ retry, rules: policyRules })
        return withReplayRule(request, toRetryPolicy({ retry, rules }))
      },
    }
    return { start: () => run(call), abort: (reason) => controller?.abort(reason) }
  }
}

/** The options of a fetch whose requests a host runs. */
interface HostedFetchOptions {
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
  readonly fallback: Fallback | undefined
}

/**
 * Creates a fetch whose requests `host` runs.
 *
 * @internal
 */
export function createHostedFetch(
  host: RequestHost,
  { fetch, throwOnStatus, fallback }: HostedFetchOptions,
): (input: FetchInput, init?: FetchInit) => Promise<Response> {
  const returnedErrors = new WeakSet<object>()
  const statusFallback: Fallback | undefined =
    fallback &&
    ((error, info) => (returnedErrors.has(Object(error)) ? Promise.reject(error) : fallback(error, info)))
  return async (input, init = {}) => {
    const { retry: retryOptions } = init
    const operation = host.operation()
    const policy =
      retryOptions === undefined ? operation.policy : mergeRequestPolicy(retryOptions, operation.policy)
    const timeout = hasTimeout(init) ? init.timeout : undefined
    const overrides = { retry: retryOptions, timeout, fallback: statusFallback }
    const runCall: RequestHost['run'] = async (call) => {
      const { value, session } = await host.execute(call, execution)
      attachSession(value, session, call.guard, false)
      return value
    }
    const executor = new HostedRunner(runCall, operation, overrides)
    const retry = toRetryPolicy(policy)
    // The policy for a later failure can allow more attempts, so the body of a Request is kept for them.
    const keptRetry = { ...retry, maxAttempts: Math.max(2, retry.maxAttempts) }
    const context = { executor, fetch, throwOnStatus, returnedErrors }
    const execution: FetchExecution = new FetchExecution(context, policy, keptRetry, undefined, input, init)
    const { send, isHedgeable } = execution
    try {
      const call = executor.createExecution<Response, never>(execution, send, retry, isHedgeable)
      return execution.finish(await call.start())
    } catch (error) {
      return execution.fail(error)
    }
  }
}
