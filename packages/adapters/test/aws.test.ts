import { Readable } from 'node:stream'
import { ListQueuesCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import { Holdfast } from '@holdfast/runtime'
import { CircuitBreaker, guard, RetryBudget, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AwsErrorType,
  type AwsMiddlewareStack,
  type AwsPlugin,
  type AwsRetryOptions,
  createRetryPlugin,
  createRetryStrategy,
} from '../src/aws/index.js'
import { startHttpServer, type TestServer } from './http-server.js'
import { skipDelays } from './retry-clock.js'

const IMMEDIATE = { backoffType: 'immediate', maxAttempts: 3 } as const

let server: TestServer
beforeAll(async () => {
  server = await startHttpServer()
})
afterAll(() => server.close())

/** An error response of the JSON protocol of SQS. */
const failure = (status: number, type: string, headers = {}) => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.0', ...headers },
  body: JSON.stringify({ __type: `com.amazonaws.sqs#${type}`, message: type }),
})
const UNAVAILABLE = failure(503, 'ServiceUnavailable')
const THROTTLED = failure(400, 'ThrottlingException')
const SUCCESS = { status: 200, body: JSON.stringify({ QueueUrls: ['https://queue.example/1'] }) }

const createClient = (path: string, config: SQSClientConfig = {}): SQSClient =>
  new SQSClient({
    region: 'eu-central-1',
    endpoint: server.url + path,
    credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
    ...config,
  })

/** Sends one command and returns the result or the error. */
const send = (client: SQSClient, options = {}): Promise<unknown> =>
  client.send(new ListQueuesCommand({}), options).catch((error: unknown) => error)

describe('createRetryStrategy', () => {
  const withStrategy = (path: string, options: AwsRetryOptions = {}): SQSClient =>
    createClient(path, { retryStrategy: createRetryStrategy({ retry: IMMEDIATE, ...options }) })

  it('retries transient errors and throttling until a command succeeds', async () => {
    const path = server.script([UNAVAILABLE, THROTTLED, SUCCESS])
    expect(await send(withStrategy(path))).toMatchObject({
      QueueUrls: ['https://queue.example/1'],
      $metadata: { attempts: 3 },
    })
  })

  it('ends with the error of the last attempt after maxAttempts', async () => {
    const path = server.script([UNAVAILABLE])
    expect(await send(withStrategy(path))).toMatchObject({
      name: 'ServiceUnavailable',
      $metadata: { attempts: 3, httpStatusCode: 503 },
    })
    expect(server.requests(path)).toHaveLength(3)
  })

  it('retries a refused connection', async () => {
    const retryStrategy = createRetryStrategy({ retry: IMMEDIATE })
    const client = createClient('', { endpoint: 'http://127.0.0.1:1', retryStrategy })
    expect(await send(client)).toMatchObject({ code: 'ECONNREFUSED', $metadata: { attempts: 3 } })
  })

  it('does not retry an error of the client', async () => {
    const path = server.script([failure(400, 'InvalidParameterValue')])
    expect(await send(withStrategy(path))).toMatchObject({ $metadata: { attempts: 1 } })
  })

  it('waits between attempts as the policy says, and by Retry-After where the service sends it', async () => {
    const clock = fakeClock()
    const delays: number[] = []
    const advancing = {
      ...clock,
      setTimer: (fn: () => void, ms: number) => {
        delays.push(ms)
        setImmediate(() => void clock.advance(ms))
        return clock.setTimer(fn, ms)
      },
    }
    const path = server.script([
      UNAVAILABLE,
      UNAVAILABLE,
      failure(400, 'ThrottlingException', { 'retry-after': '9' }),
      SUCCESS,
    ])
    const result = await send(withStrategy(path, { clock: advancing, retry: { maxAttempts: 4 } }))
    expect(delays).toEqual([1000, 2000, 9000])
    expect(result).toMatchObject({ $metadata: { attempts: 4, totalRetryDelay: 12_000 } })
  })

  it('ends where Retry-After is above maxRetryAfter', async () => {
    const path = server.script([failure(429, 'TooManyRequests', { 'retry-after': '90' })])
    expect(await send(withStrategy(path))).toMatchObject({ $metadata: { attempts: 1 } })
  })

  it('an open breaker rejects the next command with CIRCUIT_OPEN, without a request', async () => {
    const path = server.script([UNAVAILABLE])
    const breaker = new CircuitBreaker({ failureThreshold: 2 })
    const client = withStrategy(path, { breaker })
    expect(await send(client)).toMatchObject({ name: 'ServiceUnavailable', $metadata: { attempts: 2 } })
    expect(await send(client)).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(server.requests(path)).toHaveLength(2)
  })

  it('a half-open breaker closes with the success of a command', async () => {
    const clock = fakeClock()
    const path = server.script([UNAVAILABLE, SUCCESS])
    const breaker = new CircuitBreaker({ failureThreshold: 1, timeoutDuration: '30s', clock })
    const client = withStrategy(path, { breaker, clock })
    await send(client)
    expect(breaker.state).toBe('open')
    await clock.advance(30_000)
    await send(client)
    expect(breaker.state).toBe('closed')
  })

  it('a command that was aborted during its delay does not keep the probe of a half-open breaker', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    let endOfDelay: Promise<void> | undefined
    const aborting = {
      ...clock,
      setTimer: (fn: () => void, ms: number) => {
        setImmediate(() => {
          controller.abort()
          setImmediate(() => void (endOfDelay = clock.advance(ms)))
        })
        return clock.setTimer(fn, ms)
      },
    }
    const path = server.script([UNAVAILABLE, THROTTLED, SUCCESS])
    const breaker = new CircuitBreaker({ failureThreshold: 1, timeoutDuration: '30s', clock })
    const retryStrategy = createRetryStrategy({ breaker, clock: aborting })
    const client = createClient(path, { retryStrategy })
    await send(client)
    await clock.advance(30_000)
    expect(await send(client, { abortSignal: controller.signal })).toMatchObject({ name: 'AbortError' })
    await expect.poll(() => endOfDelay !== undefined).toBe(true)
    await endOfDelay
    // The SDK does not use the token of the retry. Its permit is released in a later turn of the event loop.
    const stateAfterCall = async () => {
      await send(client)
      return breaker.state
    }
    await expect.poll(stateAfterCall).toBe('closed')
    expect(server.requests(path)).toHaveLength(3)
  })

  it('throttling does not count for the breaker', async () => {
    const path = server.script([THROTTLED])
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    expect(await send(withStrategy(path, { breaker }))).toMatchObject({ $metadata: { attempts: 3 } })
    expect(breaker.state).toBe('closed')
  })

  it('ends where the budget is spent', async () => {
    const path = server.script([UNAVAILABLE])
    const budget = new RetryBudget({ ratio: 0, reservePerSecond: 0 })
    expect(await send(withStrategy(path, { budget }))).toMatchObject({ $metadata: { attempts: 1 } })
  })

  it('the matchers of the policy decide where there are some', async () => {
    const path = server.script([UNAVAILABLE])
    const retry = { ...IMMEDIATE, abortOn: ['ServiceUnavailable'] }
    expect(await send(withStrategy(path, { retry }))).toMatchObject({ $metadata: { attempts: 1 } })
  })

  it.each<[AwsErrorType, object, boolean]>([
    ['TRANSIENT', { name: 'RequestExpired', $metadata: { httpStatusCode: 400 } }, true],
    ['THROTTLING', { name: 'SomethingNew', $metadata: { httpStatusCode: 400 } }, true],
    ['SERVER_ERROR', { name: 'NotImplemented', $metadata: { httpStatusCode: 501 } }, false],
    ['CLIENT_ERROR', { name: 'SomethingNew' }, false],
  ])('an error of the type %s is retried by that type: %o', async (errorType, fields, isRetried) => {
    const strategy = createRetryStrategy({ retry: IMMEDIATE })
    const token = await strategy.acquireInitialRetryToken('')
    const error = Object.assign(new Error('failed'), fields)
    const next = await strategy.refreshRetryTokenForRetry(token, { error, errorType }).catch(() => undefined)
    expect(next?.getRetryCount()).toBe(isRetried ? 1 : undefined)
  })

  it('the hint of the SDK is a delay where the response has no Retry-After', async () => {
    const clock = fakeClock()
    const strategy = createRetryStrategy({ clock })
    const token = await strategy.acquireInitialRetryToken('')
    const retryAfterHint = new Date(systemClock.wall() + 20_000)
    const errorType = 'THROTTLING'
    const next = strategy.refreshRetryTokenForRetry(token, {
      error: new Error('slow'),
      errorType,
      retryAfterHint,
    })
    await clock.advance(20_000)
    const delay = (await next).$retryLog?.acquisitionDelay
    expect(delay).toBeGreaterThan(10_000)
    expect(delay).toBeLessThanOrEqual(20_000)
  })

  it('unknown options are rejected', () => {
    expect(() => createRetryStrategy({ hedge: { delay: 1 } } as never)).toThrow(/hedge.*an unknown option/)
  })
})

describe('createRetryPlugin', () => {
  it('each command is a call of the guard, and its error has the session', async () => {
    const path = server.script([UNAVAILABLE, THROTTLED, UNAVAILABLE])
    const client = createClient(path)
    client.middlewareStack.use(createRetryPlugin(guard({ name: 'sqs', retry: IMMEDIATE })))
    const error = await send(client)
    expect(error).toMatchObject({ name: 'ServiceUnavailable', $metadata: { attempts: 3 } })
    expect(sessionOf(error)).toMatchObject({ operation: 'sqs', stopped: 'attempts_spent' })
    expect(sessionOf(error)?.attempts.map(({ statusCode }) => statusCode)).toEqual([503, 400, 503])
  })

  it('attempts have one invocation id, and their number in a header', async () => {
    const path = server.script([UNAVAILABLE, SUCCESS])
    const client = createClient(path)
    client.middlewareStack.use(createRetryPlugin(guard({ retry: IMMEDIATE })))
    expect(await send(client)).toMatchObject({ $metadata: { attempts: 2 } })
    const headers = server.requests(path).map((request) => request.headers)
    expect(headers.map((each) => each['amz-sdk-request'])).toEqual(['attempt=1', 'attempt=2'])
    expect(new Set(headers.map((each) => each['amz-sdk-invocation-id'])).size).toBe(1)
  })

  it('Retry-After replaces the delay', async () => {
    const clock = fakeClock()
    const sqs = guard({ clock })
    const delays = skipDelays(sqs, clock)
    const client = createClient(server.script([failure(503, 'Busy', { 'retry-after': '4' }), SUCCESS]))
    client.middlewareStack.use(createRetryPlugin(sqs))
    await send(client)
    expect(delays).toEqual([4000])
  })

  it('an abort ends a command during the delay of a retry', async () => {
    const controller = new AbortController()
    const sqs = guard({ clock: fakeClock() })
    sqs.on(({ type }) => type === 'retry_scheduled' && controller.abort())
    const path = server.script([UNAVAILABLE])
    const client = createClient(path)
    client.middlewareStack.use(createRetryPlugin(sqs))
    expect(await send(client, { abortSignal: controller.signal })).toMatchObject({ name: 'AbortError' })
    expect(server.requests(path)).toHaveLength(1)
  })

  describe('a body that is a stream', () => {
    /** Sends a request with a stream through the plugin, in place of a client with such a command. */
    function sendStream(plugin: AwsPlugin, respond: () => Promise<unknown>): Promise<unknown> {
      type Send = (args: object) => Promise<unknown>
      let middleware: ((next: Send, context: object) => Send) | undefined
      plugin.applyToStack({
        add: (added: typeof middleware) => void (middleware = added),
      } as AwsMiddlewareStack)
      const request = { headers: {}, body: Readable.from(['order 42']) }
      return middleware?.(respond, {})({ input: {}, request }) ?? Promise.reject(new Error('no middleware'))
    }

    it('is not sent again after the timeout of an attempt', async () => {
      const clock = fakeClock()
      let requests = 0
      const s3 = guard({ clock, retry: IMMEDIATE, timeout: { attempt: 1000 } })
      const call = sendStream(createRetryPlugin(s3), () => {
        requests++
        return new Promise(() => {})
      }).catch((error: unknown) => error)
      await clock.advance(1000)
      await clock.advance(1000)
      expect(requests).toBe(1)
      expect(await call).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    })

    it('is not sent again after an error', async () => {
      let requests = 0
      const call = sendStream(createRetryPlugin(guard({ retry: IMMEDIATE })), async () => {
        requests++
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      })
      await expect(call).rejects.toMatchObject({ code: 'ECONNRESET' })
      expect(requests).toBe(1)
    })

    it('is not hedged', async () => {
      const clock = fakeClock()
      const responses: ((result: object) => void)[] = []
      const s3 = guard({ clock, retry: false, hedge: { delay: 10 } })
      const call = sendStream(createRetryPlugin(s3), () => new Promise((resolve) => responses.push(resolve)))
      await clock.advance(10)
      responses[0]?.({ output: { $metadata: {} } })
      expect(await call).toMatchObject({ output: { $metadata: { attempts: 1 } } })
      expect(responses).toHaveLength(1)
    })
  })

  it('commands appear in the records of the runtime, and as dead letters', async () => {
    const hf = await Holdfast.open({
      config: { policies: { sqs: { maxAttempts: 2, backoffType: 'immediate' } } },
    })
    const client = createClient(server.script([UNAVAILABLE]))
    client.middlewareStack.use(
      createRetryPlugin(hf.guard('sqs'), {
        callOptions: ({ commandName }, input) => ({ payload: { commandName, input }, itemId: 'queues' }),
      }),
    )
    await send(client)
    expect((await hf.sessions.list({ operation: 'sqs' })).items).toMatchObject([{ success: false }])
    const { items } = await hf.deadLetters.list({ operation: 'sqs' })
    expect(items).toMatchObject([{ originalPayload: { commandName: 'ListQueuesCommand', input: {} } }])
    await hf.close()
  })
})
