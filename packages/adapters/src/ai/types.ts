/** The parameters of a model call that the middleware uses. */
export interface AiCallParams {
  abortSignal?: AbortSignal | undefined
}

/** The parts of a language model that the middleware uses. */
export interface AiModel {
  readonly provider: string
  readonly modelId: string
  doGenerate(params: never): PromiseLike<unknown>
  doStream(params: never): PromiseLike<unknown>
}

/** The result of a streamed call. */
export interface AiStreamResult<P> {
  stream: ReadableStream<P>
}

/** A middleware for `wrapLanguageModel`. */
export interface AiMiddleware {
  readonly specificationVersion: 'v3'
  wrapGenerate: <R>(call: {
    doGenerate: () => PromiseLike<R>
    params: AiCallParams
    model: AiModel
  }) => Promise<R>
  wrapStream: <P, R extends AiStreamResult<P>>(call: {
    doStream: () => PromiseLike<R & AiStreamResult<P>>
    params: AiCallParams
    model: AiModel
  }) => Promise<R>
}

/** The call of a model, for `callOptions`. */
export interface AiCall {
  readonly type: 'generate' | 'stream'
  readonly provider: string
  readonly modelId: string
  /** The parameters of the call, with the prompt. */
  readonly params: AiCallParams
}
