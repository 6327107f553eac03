import type { Attempt } from 'holdfast'
import type { AdapterCallOptions, CallGuard } from '../guard.js'
import { waitForFirstPart } from './first-part.js'
import type { AiCall, AiCallParams, AiMiddleware, AiModel, AiStreamResult } from './types.js'

/** Options of {@link createModelMiddleware}. */
export interface AiMiddlewareOptions {
  /**
   * The models by the id of their pool member, where the guard has a pool whose members are not models themselves, such as a
   * pool of the config file.
   */
  models?: Readonly<Record<string, AiModel>> | undefined
  /** Returns the options of the call of a model, such as other retries or, for the runtime, a payload. */
  callOptions?: ((call: AiCall) => AdapterCallOptions | undefined) | undefined
}

/**
 * Creates a middleware for `wrapLanguageModel` of the AI SDK that runs each call of a model under `guard`. If the guard has a
 * pool, its members are models, and a retry is sent to another one. A stream is retried until the first part of its answer;
 * deadlines end there. Pass `maxRetries: 0` to the functions of the AI SDK, so that its retries do not multiply with those of
 * the guard.
 *
 * @example
 * ```ts
 * import { APICallError, generateText, wrapLanguageModel } from 'ai'
 * import { MockLanguageModelV3 } from 'ai/test'
 * import { guard, Pool } from 'holdfast'
 * import { createModelMiddleware } from '@holdfast/adapters/ai'
 *
 * const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
 * const primary = new MockLanguageModelV3({
 *   doGenerate: async () => {
 *     throw new APICallError({ message: 'overloaded', url: 'https://a.example', requestBodyValues: {}, statusCode: 529 })
 *   },
 * })
 * const secondary = new MockLanguageModelV3({
 *   doGenerate: { content: [{ type: 'text', text: 'hello' }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] },
 * })
 * const pool = new Pool({ id: 'models', members: [{ id: 'a', value: primary }, { id: 'b', value: secondary }] })
 * const llm = guard({ pool, retry: { backoffType: 'immediate' } })
 * const model = wrapLanguageModel({ model: primary, middleware: createModelMiddleware(llm) })
 *
 * const { text } = await generateText({ model, prompt: 'Greet me', maxRetries: 0 })
 * text // => 'hello'
 * ```
 */
export function createModelMiddleware(
  guard: CallGuard,
  { models, callOptions }: AiMiddlewareOptions = {},
): AiMiddleware {
  const run = <R>(
    type: AiCall['type'],
    { model, params }: { model: AiModel; params: AiCallParams },
    call: (target: AiModel, params: AiCallParams, attempt: Attempt) => PromiseLike<R>,
  ): Promise<R> => {
    const { provider, modelId } = model
    const { abortSignal } = params
    return guard.run(
      (attempt) => {
        const target = selectModel(attempt, model, models)
        attempt.note({ provider: target.provider, modelId: target.modelId })
        return call(target, { ...params, abortSignal: joinSignals(attempt.signal, abortSignal) }, attempt)
      },
      {
        context: { type, provider, modelId },
        signal: abortSignal,
        ...callOptions?.({ type, provider, modelId, params }),
      },
    )
  }
  return {
    specificationVersion: 'v3',
    wrapGenerate: <R>(call: { model: AiModel; params: AiCallParams }) =>
      run('generate', call, (target, params) => target.doGenerate(params as never) as PromiseLike<R>),
    wrapStream: <R extends AiStreamResult<unknown>>(call: { model: AiModel; params: AiCallParams }) =>
      run('stream', call, async (target, params, { signal }) =>
        waitForFirstPart((await target.doStream(params as never)) as R, signal),
      ),
  }
}

/** The model of an attempt: that of its pool member, else the wrapped model. */
function selectModel({ member }: Attempt, wrapped: AiModel, models: AiMiddlewareOptions['models']): AiModel {
  if (member === undefined) return wrapped
  const value = models?.[member.id] ?? (member.value as Partial<AiModel> | undefined)
  if (typeof value?.doGenerate === 'function') return value as AiModel
  throw new TypeError(`the pool member ${member.id} has no language model: add it to the option models`)
}

/** Ends with the attempt; the caller's signal still ends a stream that was handed over. */
const joinSignals = (attempt: AbortSignal, caller: AbortSignal | undefined): AbortSignal =>
  caller === undefined ? attempt : AbortSignal.any([attempt, caller])
