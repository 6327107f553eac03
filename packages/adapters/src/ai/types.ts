/** The parameters of a model call that the middleware uses. */
export interface AiCallParams {
  /** The caller's signal. */
  abortSignal?: AbortSignal | undefined
}

/** The parts of a language model that the middleware uses. */
export interface AiModel {
  /** The name of the provider. */
  readonly provider: string
  /** The name of the model. */
  readonly modelId: string
  /** Generates an answer. */
  doGenerate(params: never): PromiseLike<unknown>
  /** Generates an answer as a stream of parts. */
  doStream(params: never): PromiseLike<unknown>
}

/** The result of a streamed call. */
export interface AiStreamResult<P> {
  /** The parts of the answer. */
  stream: ReadableStream<P>
}

/** A middleware for `wrapLanguageModel`. */
export interface AiMiddleware {
  /** The version of the interface. */
  readonly specificationVersion: 'v3'
  /** Runs a call for a whole answer. */
  wrapGenerate: <R>(call: {
    doGenerate: () => PromiseLike<R>
    params: AiCallParams
    model: AiModel
  }) => Promise<R>
  /** Runs a call for a stream. */
  wrapStream: <P, R extends AiStreamResult<P>>(call: {
    doStream: () => PromiseLike<R & AiStreamResult<P>>
    params: AiCallParams
    model: AiModel
  }) => Promise<R>
}

/** The call of a model, for `callOptions`. */
export interface AiCall {
  /** Whether the answer is a stream. */
  readonly type: 'generate' | 'stream'
  /** The provider of the wrapped model. */
  readonly provider: string
  /** The name of the wrapped model. */
  readonly modelId: string
  /** The parameters of the call, with the prompt. */
  readonly params: AiCallParams
}
