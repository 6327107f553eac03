import Anthropic from '@anthropic-ai/sdk'
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
import { Client as Notion } from '@notionhq/client'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { classify, compileMatchers } from '../../../src/classify/index.js'
import { closedPort, failure, httpServer } from './servers.js'

// The SDK of AWS warns of the next Node.js on every start.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'

type Call = (baseURL: string, timeout?: number) => unknown

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }
const sqs: Call = (endpoint, requestTimeout = 60_000) =>
  new SQSClient({
    region: 'us-east-1',
    endpoint,
    credentials,
    maxAttempts: 1,
    requestHandler: { requestTimeout, throwOnRequestTimeout: true },
  }).send(new ListQueuesCommand({}))

const SDKS: { [name: string]: Call } = {
  openai: (baseURL, timeout = 60_000) =>
    new OpenAI({ apiKey: 'k', baseURL, timeout, maxRetries: 0 }).models.list(),
  anthropic: (baseURL, timeout = 60_000) =>
    new Anthropic({ apiKey: 'k', baseURL, timeout, maxRetries: 0 }).models.list(),
  notion: (baseUrl, timeoutMs = 60_000) =>
    new Notion({ auth: 'k', baseUrl, timeoutMs, retry: false, logger: () => {} }).users.me({}),
  sqs,
}

describe.each(Object.entries(SDKS))('the SDK of %s', (_, call) => {
  it.each([
    [503, 'service_unavailable', 'transient', 'server_error'],
    [429, 'rate_limited', 'transient', 'rate_limited'],
    [401, 'unauthorized', 'critical', 'auth'],
    [403, 'restricted_resource', 'transient', 'rate_limited'],
    [404, 'object_not_found', 'permanent', 'not_found'],
    [409, 'conflict_error', 'permanent', 'conflict'],
    [400, 'validation_error', 'permanent', 'validation'],
  ])('with %i %s: %s %s', async (status, code, category, kind) => {
    const body = { object: 'error', status, code, message: 'no', error: { type: code, message: 'no' } }
    const url = await httpServer({ status, headers: { 'retry-after': '3' }, body })
    const error = await failure(() => call(url))
    expect(classify(error)).toEqual({ category, kind, httpStatus: status, retryAfter: 3000 })
  })

  it('with a refused connection: network_error', async () => {
    const port = await closedPort()
    const error = await failure(() => call(`http://127.0.0.1:${port}`))
    expect(classify(error)).toEqual({ category: 'transient', kind: 'network_error' })
  })

  it('without a response: timeout', async () => {
    const url = await httpServer('silent')
    expect(classify(await failure(() => call(url, 1)))).toEqual({ category: 'transient', kind: 'timeout' })
  })
})

describe('specifics of one SDK', () => {
  it('OpenAI sends retry-after-ms', async () => {
    const url = await httpServer({ status: 429, headers: { 'retry-after-ms': '120', 'retry-after': '9' } })
    expect(classify(await failure(() => SDKS.openai?.(url))).retryAfter).toBe(120)
  })

  it('Anthropic responds with 529 when overloaded', async () => {
    const url = await httpServer({ status: 529 })
    expect(classify(await failure(() => SDKS.anthropic?.(url)))).toEqual({
      category: 'transient',
      kind: 'server_error',
      httpStatus: 529,
    })
  })

  it.each([
    [
      'openai',
      (url: string, signal: AbortSignal) => new OpenAI({ apiKey: 'k', baseURL: url }).models.list({ signal }),
    ],
    [
      'anthropic',
      (url: string, signal: AbortSignal) =>
        new Anthropic({ apiKey: 'k', baseURL: url }).models.list({}, { signal }),
    ],
  ])('%s names an abort by its class', async (_, call) => {
    const url = await httpServer('silent')
    const controller = new AbortController()
    const aborted = failure(() => call(url, controller.signal))
    controller.abort()
    expect(classify(await aborted)).toEqual({ category: 'permanent', kind: 'cancelled' })
  })

  it.each([
    ['ThrottlingException', 'rate_limited'],
    ['RequestThrottled', 'rate_limited'],
    ['RequestTimeout', 'timeout'],
  ])('AWS responds with 400 where the error is %s', async (type, kind) => {
    const url = await httpServer({
      status: 400,
      body: { __type: `com.amazonaws#${type}`, message: 'slower' },
    })
    expect(classify(await failure(() => sqs(url)))).toEqual({ category: 'transient', kind, httpStatus: 400 })
  })

  it('Notion has the class that the presets list, of which only retryable errors match', async () => {
    const match = compileMatchers(['APIResponseError'])
    const answered = async (status: number, code: string) => {
      const url = await httpServer({ status, body: { object: 'error', status, code, message: 'no' } })
      const error = await failure(() => SDKS.notion?.(url))
      expect(error).toHaveProperty('name', 'APIResponseError')
      return match(error, classify(error))
    }
    expect(await answered(503, 'service_unavailable')).toBe(true)
    expect(await answered(400, 'validation_error')).toBe(false)
  })
})
