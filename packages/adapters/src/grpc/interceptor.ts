import { type GuardSettings, parseDuration, systemClock } from 'holdfast/internal'
import type { AdapterCallOptions, CallGuard } from '../guard.js'
import { StreamCall } from './stream.js'
import type { GrpcCall, GrpcCallOptions, GrpcLibrary, GrpcMetadata } from './types.js'
import { type GuardedCallParts, UnaryCall } from './unary.js'

/** Options of {@link createGrpcInterceptor}. */
export interface GrpcInterceptorOptions {
  /** Returns the options of a call to the method with this path, such as `/shop.Orders/Get`. */
  callOptions?: ((path: string) => AdapterCallOptions | undefined) | undefined
}

/**
 * Creates an interceptor for clients of `@grpc/grpc-js` that runs each call under `guard`. A unary call is retried by the
 * guard's policy within the deadline of the call, and after the delay that a server requests by `grpc-retry-pushback-ms`. A call
 * with a stream has one attempt, with the guard's breaker and bulkhead. The error of a call has the error of its last attempt as
 * `cause`, with the session.
 *
 * @example
 * ```ts
 * import * as grpc from '@grpc/grpc-js'
 * import { guard, sessionOf } from 'holdfast'
 * import { createGrpcInterceptor } from '@holdfast/adapters/grpc'
 *
 * const orders = guard({ name: 'orders', retry: { maxAttempts: 2, backoffType: 'immediate' } })
 * const client = new grpc.Client('127.0.0.1:1', grpc.credentials.createInsecure(), {
 *   interceptors: [createGrpcInterceptor(grpc, orders)],
 * })
 * const bytes = (value: Buffer) => value
 * const error = await new Promise<Error | null>((resolve) =>
 *   client.makeUnaryRequest('/shop.Orders/Get', bytes, bytes, Buffer.from('42'), resolve),
 * )
 * error?.message.startsWith('14 UNAVAILABLE') // => true
 * sessionOf(error?.cause)?.attempts.length // => 2
 * client.close()
 * ```
 */
export function createGrpcInterceptor<C>(
  grpc: GrpcLibrary<C>,
  guard: CallGuard,
  { callOptions }: GrpcInterceptorOptions = {},
): (options: GrpcCallOptions, nextCall: (options: never) => unknown) => C {
  const createMetadata = (): GrpcMetadata => new grpc.Metadata() as GrpcMetadata
  return (options, nextCall) => {
    const { path, requestStream, responseStream } = options.method_definition
    const deadline = Number(options.deadline ?? Number.POSITIVE_INFINITY)
    const remaining = Math.max(1, deadline - systemClock.wall())
    const ownOptions = callOptions?.(path)
    const parts: GuardedCallParts = {
      guard,
      nextCall: () => nextCall(options as never) as GrpcCall,
      createMetadata,
      deadline,
      callOptions: {
        context: { path },
        ...ownOptions,
        timeout: timeoutWithin(remaining, guard, ownOptions?.timeout),
      },
    }
    const call = requestStream || responseStream ? new StreamCall(parts) : new UnaryCall(parts)
    return new grpc.InterceptingCall(call as never)
  }
}

/**
 * The timeouts of a call whose total timeout ends with its deadline at the latest, so that the guard starts no delay that would pass
 * it. The total timeout of a guard of the runtime is that of its policy and not known here, so it is not replaced.
 */
function timeoutWithin(
  remaining: number,
  guard: CallGuard,
  timeout: AdapterCallOptions['timeout'],
): AdapterCallOptions['timeout'] {
  const { settings } = guard as { settings?: Pick<GuardSettings, 'totalTimeout'> }
  const ownTimeout = timeout === false ? { attempt: Infinity, total: Infinity } : timeout
  const total = ownTimeout?.total ?? settings?.totalTimeout
  // A total timeout that is not valid is rejected by the guard.
  const isLater = total !== undefined && parseDuration(total) > remaining
  return isLater ? { ...ownTimeout, total: remaining } : timeout
}
