import type { Executed, GuardEvent } from 'holdfast'
import {
  createHostedFetch,
  type FetchInit,
  type FetchInput,
  type ResilientFetch,
  StatusError,
} from 'holdfast/http'
import {
  type HostedCall,
  type HostedOperation,
  type HostedRequest,
  IDEMPOTENCY_KEY_HEADER,
  isIdempotentMethod,
  type RequestHost,
} from 'holdfast/internal'
import { createHostedInterceptor, type ResilienceInterceptor } from 'holdfast/undici'
import type { CallOptions, Run } from '../api-types.js'
import { mergeFields } from '../call-options.js'
import type { ReplayFunction } from '../dead-letters/handlers.js'
import {
  type CompiledOperation,
  type CompiledPolicy,
  policyForKind,
} from '../execution/compiled-operation.js'
import { httpRulesOf } from '../execution/request-policies.js'
import { type DeadLetterSource, withRequest } from '../request-call.js'
import { withSession } from '../session-call.js'
import {
  checkFetchOptions,
  checkInterceptorOptions,
  type RequestOptions,
  type RuntimeFetchOptions,
} from './options.js'
import { createReplay } from './replay.js'
import { createStoredRequest } from './stored-request.js'

/** The parts of the runtime that requests need. */
export interface RequestServiceParts {
  run: Run
  operationFor(operation: string, options: CallOptions<unknown>): CompiledOperation
  redact<T>(value: T): T
  /** Registers the function that replays the dead letters of an operation. */
  registerReplay(operation: string, replay: ReplayFunction): void
  /** Adds a listener for the events of calls with these options. */
  on(operation: string, options: CallOptions, listener: (event: GuardEvent) => void): () => void
}

/** Creates fetch functions and interceptors whose requests are calls of the runtime. */
export class RequestService {
  private readonly parts: RequestServiceParts
  private readonly hostedOperations = new WeakMap<CompiledOperation, HostedOperation>()

  constructor(parts: RequestServiceParts) {
    this.parts = parts
  }

  createFetch(operation: string, options: RuntimeFetchOptions = {}): ResilientFetch {
    checkFetchOptions(options)
    const { parts } = this
    const { fetch, throwOnStatus = false, fallback, deadLetter = false, headers, ...request } = options
    const storage = deadLetter ? { throwOnStatus } : undefined
    const hostedFetch = createHostedFetch(this.createHost(operation, callOptionsOf(request), storage), {
      fetch,
      throwOnStatus,
      fallback,
    })
    if (deadLetter) {
      const sendAgain = (entry: CallOptions, input: FetchInput, init: FetchInit) => {
        const host = this.createHost(operation, { ...callOptionsOf(request), ...entry })
        const send = createHostedFetch(host, { fetch, throwOnStatus: true, fallback: undefined })
        return send(input, withDefaults(init, request))
      }
      parts.registerReplay(operation, createReplay(headers, sendAgain))
    }
    return Object.assign(
      (input: FetchInput, init?: FetchInit) => hostedFetch(input, withDefaults(init, request)),
      {
        on: (listener: (event: GuardEvent) => void) => parts.on(operation, callOptionsOf(request), listener),
      },
    )
  }

  createInterceptor(operation: string, options: RequestOptions = {}): ResilienceInterceptor {
    checkInterceptorOptions(options)
    const callOptions = callOptionsOf(options)
    const host = this.createHost(operation, callOptions)
    return Object.assign(createHostedInterceptor(host, options.retry), {
      on: (listener: (event: GuardEvent) => void) => this.parts.on(operation, callOptions, listener),
    })
  }

  /** The host of the requests of one fetch or interceptor. Requests that fail are stored where `storage` is given. */
  private createHost(
    operation: string,
    options: CallOptions,
    storage?: { readonly throwOnStatus: boolean },
  ): RequestHost {
    const { parts } = this
    const optionsOf = (call: HostedCall<unknown>, deadLetter?: DeadLetterSource): CallOptions<unknown> => {
      const { guard, toRequestPolicy, context, signal, retry, timeout, fallback } = call
      const callOptions: CallOptions<unknown> = {
        ...options,
        context: context as Record<string, unknown>,
        signal,
        retry: retry as CallOptions['retry'],
        timeout: mergeFields('timeout', options.timeout, timeout),
        fallback,
      }
      return withRequest(callOptions, { guard, toRequestPolicy, deadLetter })
    }
    return {
      operation: () => this.hostedOperationOf(parts.operationFor(operation, options)),
      run: <T>(call: HostedCall<T>) => parts.run(operation, call.fn as never, optionsOf(call)) as Promise<T>,
      execute: <T>(call: HostedCall<T>, request: HostedRequest) => {
        const deadLetter = storage && this.deadLetterOf(request, call.context, storage.throwOnStatus)
        const callOptions = withSession(optionsOf(call, deadLetter))
        return parts.run(operation, call.fn as never, callOptions) as Promise<unknown> as Promise<Executed<T>>
      },
    }
  }

  /** The settings of an operation for requests; the same object for the same compiled operation. */
  private hostedOperationOf(operation: CompiledOperation): HostedOperation {
    const existing = this.hostedOperations.get(operation)
    if (existing !== undefined) return existing
    const { guard, executorOptions, initialPolicy } = operation
    const toRequestPolicy = (policy: CompiledPolicy) => ({ retry: policy.policy, rules: httpRulesOf(policy) })
    const hosted: HostedOperation = {
      settings: guard.settings,
      executorOptions,
      policy: toRequestPolicy(initialPolicy),
      policyFor: (classification) => toRequestPolicy(policyForKind(operation, classification)),
    }
    this.hostedOperations.set(operation, hosted)
    return hosted
  }

  /** The dead letter of a request that can arrive twice with the same effect as once; undefined for all others. */
  private deadLetterOf(
    request: HostedRequest,
    context: object,
    throwOnStatus: boolean,
  ): DeadLetterSource | undefined {
    const idempotencyKey = new Headers(request.headers).get(IDEMPOTENCY_KEY_HEADER) ?? undefined
    if (idempotencyKey === undefined && !isIdempotentMethod(request.method)) return undefined
    return {
      itemId: `${request.method} ${(context as { url?: string }).url}`,
      idempotencyKey,
      // A response that is returned is a failure only if its status is one that is retried.
      shouldStore: (error, known, { matchesRetryOn }) =>
        throwOnStatus ||
        !(error instanceof StatusError) ||
        known === undefined ||
        (matchesRetryOn?.(error, known) ?? known.category === 'transient'),
      createPayload: () => createStoredRequest(request, (value) => this.parts.redact(value)),
    }
  }
}

/** The options of requests that the configuration's operation depends on, and those of their records. */
const callOptionsOf = ({ service, pool, policy, timeout, name }: RequestOptions): CallOptions => ({
  service,
  pool,
  policy,
  timeout,
  name,
})

/** Adds the options of a fetch to those of one request. */
function withDefaults(init: FetchInit = {}, { context, retry }: RuntimeFetchOptions): FetchInit {
  if (context === undefined && retry === undefined) return init
  const merged = { ...init, context: { ...context, ...init.context } }
  return retry === undefined ? merged : { ...merged, retry: mergeFields('retry', retry, init.retry) }
}
