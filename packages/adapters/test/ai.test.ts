import { Holdfast } from '@holdfast/runtime'
import {
  APICallError,
  generateText,
  RetryError,
  simulateReadableStream,
  streamText,
  wrapLanguageModel,
} from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { classify, type Guard, guard, Pool, sessionOf } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { type AiMiddlewareOptions, createModelMiddleware } from '../src/ai/index.js'
import { skipDelays } from './retry-clock.js'

const IMMEDIATE = { backoffType: 'immediate', maxAttempts: 3 } as const

type Model = MockLanguageModelV3
type StreamResult = Awaited<ReturnType<Model['doStream']>>
type Part = StreamResult['stream'] extends ReadableStream<infer P> ? P : never

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}
const finishReason = { unified: 'stop', raw: 'stop' } as const
const answer = (text: string) => ({
  content: [{ type: 'text' as const, text }],
  finishReason,
  usage,
  warnings: [],
})

const apiError = (statusCode?: number, more: Partial<ConstructorParameters<typeof APICallError>[0]> = {}) =>
  new APICallError({
    message: `status ${statusCode}`,
    url: 'https://model.example',
    requestBodyValues: {},
    ...(statusCode !== undefined && { statusCode }),
    ...more,
  })

/** A model that answers with these texts or errors in order. */
function scriptedModel(modelId: string, outcomes: (string | Error)[]): Model {
  const next = (): string => {
    const outcome = outcomes.length > 1 ? outcomes.shift() : outcomes[0]
    if (outcome instanceof Error) throw outcome
    return outcome ?? ''
  }
  return new MockLanguageModelV3({
    provider: 'mock',
    modelId,
    doGenerate: async () => answer(next()),
  })
}

const START: Part = { type: 'stream-start', warnings: [] }
const text = (delta: string): Part[] => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta },
  { type: 'text-end', id: '1' },
]
const FINISH: Part = { type: 'finish', finishReason, usage }

/** A model that sends these streams in order. An error in place of a stream rejects the request. */
const streamingModel = (streams: (Part[] | Error)[]): Model =>
  new MockLanguageModelV3({
    doStream: async () => {
      const chunks = streams.length > 1 ? streams.shift() : streams[0]
      if (chunks === undefined || chunks instanceof Error) throw chunks
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) }
    },
  })

const wrap = (model: Model, by: Pick<Guard, 'run'>, options?: AiMiddlewareOptions) =>
  wrapLanguageModel({ model, middleware: createModelMiddleware(by, options) })

const generate = (model: ReturnType<typeof wrap>, abortSignal?: AbortSignal): Promise<unknown> =>
  generateText({ model, prompt: 'hello', maxRetries: 0, ...(abortSignal && { abortSignal }) }).then(
    (result) => result.text,
    (error: unknown) => error,
  )

/** The text of a stream and the error that ended it. */
async function stream(model: ReturnType<typeof wrap>, abortSignal?: AbortSignal) {
  const errors: unknown[] = []
  const onError = ({ error }: { error: unknown }) => void errors.push(error)
  const { fullStream } = streamText({
    model,
    prompt: 'hello',
    maxRetries: 0,
    onError,
    ...(abortSignal && { abortSignal }),
  })
  let received = ''
  for await (const part of fullStream) if (part.type === 'text-delta') received += part.text
  return { text: received, errors }
}

describe('generated texts', () => {
  it('are retried after transient errors', async () => {
    const model = scriptedModel('a', [apiError(503), apiError(529), 'hello'])
    expect(await generate(wrap(model, guard({ retry: IMMEDIATE })))).toBe('hello')
    expect(model.doGenerateCalls).toHaveLength(3)
  })

  it('end with the error of the last attempt, which has the session', async () => {
    const error = apiError(503)
    const model = scriptedModel('a', [error])
    const thrown = await generate(wrap(model, guard({ name: 'llm', retry: IMMEDIATE })))
    expect(thrown).toBe(error)
    expect(sessionOf(thrown)).toMatchObject({
      operation: 'llm',
      attempts: [{ statusCode: 503, context: { provider: 'mock', modelId: 'a' } }, {}, {}],
    })
  })

  it('are not retried after a permanent error', async () => {
    const model = scriptedModel('a', [apiError(400)])
    await generate(wrap(model, guard({ retry: IMMEDIATE })))
    expect(model.doGenerateCalls).toHaveLength(1)
  })

  it('wait as long as the provider asks in its response headers', async () => {
    const clock = fakeClock()
    const llm = guard({ clock })
    const delays = skipDelays(llm, clock)
    const model = scriptedModel('a', [
      apiError(429, { responseHeaders: { 'retry-after': '5' } }),
      apiError(529, { responseHeaders: { 'retry-after-ms': '1500' } }),
      'hello',
    ])
    expect(await generate(wrap(model, llm))).toBe('hello')
    expect(delays).toEqual([5000, 1500])
  })

  it('are aborted at the timeout of an attempt and retried', async () => {
    const clock = fakeClock()
    const signals: (AbortSignal | undefined)[] = []
    const model = new MockLanguageModelV3({
      doGenerate: async ({ abortSignal }) => {
        signals.push(abortSignal)
        return signals.length > 1 ? answer('hello') : new Promise<never>(() => {})
      },
    })
    const call = generate(wrap(model, guard({ clock, retry: IMMEDIATE, timeout: { attempt: 1000 } })))
    await clock.advance(1000)
    expect(await call).toBe('hello')
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false])
  })

  it('end when the caller aborts during the delay of a retry', async () => {
    const controller = new AbortController()
    const llm = guard({ clock: fakeClock() })
    llm.on(({ type }) => type === 'retry_scheduled' && controller.abort())
    const model = scriptedModel('a', [apiError(503)])
    expect(await generate(wrap(model, llm), controller.signal)).toMatchObject({ name: 'AbortError' })
    expect(model.doGenerateCalls).toHaveLength(1)
  })

  it('are rejected while the breaker is open, without retries of the AI SDK', async () => {
    const model = scriptedModel('a', [apiError(503)])
    const wrapped = wrap(model, guard({ retry: false, breaker: { failureThreshold: 1 } }))
    await generate(wrapped)
    const error = await generateText({ model: wrapped, prompt: 'hello' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(model.doGenerateCalls).toHaveLength(1)
  })
})

describe('errors of the AI SDK', () => {
  it.each([
    ['409, which the SDK retries by default', apiError(409), 'transient'],
    ['500 that the provider declares final', apiError(500, { isRetryable: false }), 'permanent'],
    ['400 that the provider declares retryable', apiError(400, { isRetryable: true }), 'transient'],
    ['401', apiError(401), 'critical'],
    [
      'a failed connection',
      apiError(undefined, { isRetryable: true, cause: new TypeError('fetch failed') }),
      'transient',
    ],
    [
      'an error after all retries of the SDK',
      new RetryError({ message: 'failed', reason: 'maxRetriesExceeded', errors: [apiError(503)] }),
      'transient',
    ],
  ])('are classified: %s', (_, error, category) => {
    expect(classify(error).category).toBe(category)
  })
})

describe('failover between models', () => {
  const createPool = (members: Model[], memberFaults: number[] = []) =>
    new Pool<Model>({
      id: 'models',
      members: members.map((value) => ({ id: value.modelId, value })),
      memberFaults,
    })

  it('a retry is sent to another model of the pool', async () => {
    const [a, b] = [scriptedModel('a', [apiError(529)]), scriptedModel('b', ['hello from b'])] as const
    const pool = createPool([a, b])
    expect(await generate(wrap(a, guard({ pool, retry: IMMEDIATE })))).toBe('hello from b')
    expect([a.doGenerateCalls.length, b.doGenerateCalls.length]).toEqual([1, 1])
  })

  it('a status in memberFaults, such as 401, is retried by another model', async () => {
    const [a, b] = [scriptedModel('a', [apiError(401)]), scriptedModel('b', ['hello from b'])] as const
    const pool = createPool([a, b], [401])
    expect(await generate(wrap(a, guard({ pool, retry: IMMEDIATE })))).toBe('hello from b')
  })

  it('models are found by the ids of members that are not models', async () => {
    const models = { a: scriptedModel('a', [apiError(503)]), b: scriptedModel('b', ['hello from b']) }
    const pool = new Pool({ id: 'models', members: ['a', 'b'].map((id) => ({ id, value: undefined })) })
    const llm = guard({ pool, retry: IMMEDIATE })
    expect(await generate(wrap(models.a, llm, { models }))).toBe('hello from b')
    expect(await generate(wrap(models.a, llm, { models: {} }))).toMatchObject({
      message: expect.stringContaining('has no language model'),
    })
  })
})

describe('streams', () => {
  it('are passed on from their first part', async () => {
    const model = streamingModel([[START, ...text('hello'), FINISH]])
    expect(await stream(wrap(model, guard()))).toEqual({ text: 'hello', errors: [] })
  })

  it('are retried if the request fails', async () => {
    const model = streamingModel([apiError(503), [START, ...text('hello'), FINISH]])
    expect(await stream(wrap(model, guard({ retry: IMMEDIATE })))).toEqual({ text: 'hello', errors: [] })
  })

  it('are retried if they fail before the first part of the answer', async () => {
    const model = streamingModel([
      [START, { type: 'error', error: apiError(529) }],
      [START, ...text('hello'), FINISH],
    ])
    expect(await stream(wrap(model, guard({ retry: IMMEDIATE })))).toEqual({ text: 'hello', errors: [] })
    expect(model.doStreamCalls).toHaveLength(2)
  })

  it('are not retried after the first part of the answer', async () => {
    const error = apiError(529)
    const model = streamingModel([
      [START, ...text('hel'), { type: 'error', error }],
      [START, ...text('hello'), FINISH],
    ])
    expect(await stream(wrap(model, guard({ retry: IMMEDIATE })))).toEqual({ text: 'hel', errors: [error] })
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('that are silent until the timeout of the attempt are cancelled and retried', async () => {
    const clock = fakeClock()
    let isCancelled = false
    let calls = 0
    const silent = new ReadableStream<Part>({
      cancel: () => {
        isCancelled = true
      },
    })
    const model = new MockLanguageModelV3({
      doStream: async () => ({
        stream:
          ++calls === 1 ? silent : simulateReadableStream({ chunks: [START, ...text('hello'), FINISH] }),
      }),
    })
    const llm = guard({ clock, retry: IMMEDIATE, timeout: { attempt: 1000 } })
    const result = stream(wrap(model, llm))
    await clock.advance(1000)
    expect(await result).toEqual({ text: 'hello', errors: [] })
    expect(isCancelled).toBe(true)
  })

  it('that begin after the timeout of the attempt are cancelled', async () => {
    const clock = fakeClock()
    const begin: ((result: StreamResult) => void)[] = []
    // A model that ignores the signal.
    const model = new MockLanguageModelV3({ doStream: () => new Promise((resolve) => begin.push(resolve)) })
    const llm = guard({ clock, retry: false, timeout: { attempt: 1000 } })
    const ended = expect(wrap(model, llm).doStream({ prompt: [] })).rejects.toMatchObject({
      code: 'ATTEMPT_TIMEOUT',
    })
    await clock.advance(1000)
    await ended
    const cancelled = new Promise((resolve) =>
      begin[0]?.({ stream: new ReadableStream<Part>({ cancel: resolve }) }),
    )
    expect(await cancelled).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  })

  it('the caller can abort a stream after its first part', async () => {
    const controller = new AbortController()
    const signals: (AbortSignal | undefined)[] = []
    const model = new MockLanguageModelV3({
      doStream: async ({ abortSignal }) => {
        signals.push(abortSignal)
        return { stream: simulateReadableStream({ chunks: [START, ...text('hello'), FINISH] }) }
      },
    })
    await stream(wrap(model, guard()), controller.signal)
    controller.abort()
    expect(signals[0]?.aborted).toBe(true)
  })

  it('are cancelled at the provider when the reader cancels them', async () => {
    let reason: unknown
    const endless = new ReadableStream<Part>({
      start: (controller) => controller.enqueue({ type: 'text-start', id: '1' }),
      cancel: (given) => {
        reason = given
      },
    })
    const model = new MockLanguageModelV3({ doStream: async () => ({ stream: endless }) })
    const result = await wrap(model, guard()).doStream({ prompt: [] })
    await result.stream.cancel('enough')
    expect(reason).toBe('enough')
  })
})

describe('with the runtime', () => {
  it('calls of models are recorded, without the prompt', async () => {
    const hf = await Holdfast.open({
      config: { policies: { llm: { maxAttempts: 2, backoffType: 'immediate' } } },
    })
    await generate(wrap(scriptedModel('a', [apiError(503)]), hf.guard('llm')))
    const { items } = await hf.sessions.list({ operation: 'llm' })
    expect(items).toMatchObject([{ success: false, attempts: [{}, {}] }])
    expect(JSON.stringify(items)).not.toContain('hello')
    await hf.close()
  })
})
