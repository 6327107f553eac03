import { type Attempt, stopRetrying } from 'holdfast'
import { type AttemptContext, createIdempotencyKey, isOneShot, systemRandom } from 'holdfast/internal'
import type { AdapterCallOptions, CallGuard } from '../guard.js'
import type { AwsCallContext, AwsPlugin } from './types.js'

/** Options of {@link createRetryPlugin}. */
export interface AwsPluginOptions {
  /** Returns the options of the call that sends a command, such as other retries or, for the runtime, a payload. */
  callOptions?: ((context: AwsCallContext, input: object) => AdapterCallOptions | undefined) | undefined
}

interface Metadata {
  attempts?: number
}
interface Result {
  output: { $metadata: Metadata }
}
interface Arguments {
  readonly input: object
  readonly request: { headers?: Record<string, string>; body?: unknown }
}
interface Context extends AwsCallContext {
  readonly __smithy_context?: { readonly abortSignal?: AbortSignal }
}
type Handler = (args: Arguments) => Promise<Result>

/** The name and place of the SDK's own retries, which the plugin replaces. */
const RETRY_MIDDLEWARE = {
  name: 'retryMiddleware',
  tags: ['RETRY'],
  step: 'finalizeRequest',
  priority: 'high',
  override: true,
}

/**
 * Creates a plugin for clients of the AWS SDK for JavaScript v3 that replaces the SDK's retries: each command is a call of
 * `guard`. The error of a command has its session, and with `hf.guard('operation')` commands appear in the records of the
 * runtime. Each attempt has its own signature. A body that is a stream is sent once.
 *
 * @example
 * ```ts
 * import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
 * import { guard, sessionOf } from 'holdfast'
 * import { createRetryPlugin } from '@holdfast/adapters/aws'
 *
 * const client = new SQSClient({
 *   region: 'eu-central-1',
 *   endpoint: 'http://127.0.0.1:1',
 *   credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
 * })
 * client.middlewareStack.use(createRetryPlugin(guard({ name: 'sqs', retry: { backoffType: 'immediate' } })))
 *
 * const error = await client.send(new ListQueuesCommand({})).catch((thrown) => thrown)
 * sessionOf(error)?.attempts.length // => 3
 * ```
 */
export function createRetryPlugin(guard: CallGuard, { callOptions }: AwsPluginOptions = {}): AwsPlugin {
  const middleware = (next: Handler, context: Context) => (args: Arguments) => {
    const { clientName, commandName } = context
    const { headers, body } = args.request
    if (headers !== undefined) headers['amz-sdk-invocation-id'] = createIdempotencyKey(systemRandom)
    const isSentOnce = isOneShot(body)
    let sent: Promise<Result> | undefined

    const send = async ({ number }: Attempt): Promise<Result> => {
      if (headers !== undefined) headers['amz-sdk-request'] = `attempt=${number}`
      try {
        const result = await next(args)
        result.output.$metadata.attempts = number
        return result
      } catch (error) {
        const failed = Object(error) as { $metadata?: Metadata }
        failed.$metadata = Object.assign(failed.$metadata ?? {}, { attempts: number })
        throw isSentOnce ? stopRetrying(error) : error
      }
    }
    const runAttempt = (attempt: Attempt): Promise<Result> => {
      if (!isSentOnce) return send(attempt)
      ;(attempt as AttemptContext).isFinal = true
      // A hedge waits for the first request.
      sent ??= send(attempt)
      return sent
    }
    return guard.run(runAttempt, {
      context: { clientName, commandName },
      signal: context.__smithy_context?.abortSignal,
      ...callOptions?.({ clientName, commandName }, args.input),
    })
  }
  return { applyToStack: (stack) => stack.add(middleware as never, RETRY_MIDDLEWARE as never) }
}
