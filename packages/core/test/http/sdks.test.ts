import Anthropic from '@anthropic-ai/sdk'
import { Client as Notion } from '@notionhq/client'
import ky from 'ky'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { CircuitBreaker } from '../../src/index.js'
import {
  anthropic as anthropicPreset,
  notion as notionPreset,
  openai as openaiPreset,
} from '../../src/presets/index.js'
import { type Act, immediate, nobody, serve } from './server.js'

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Act => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})

const events = (...lines: string[]): Act => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: lines.map((line) => `${line}\n\n`).join(''),
})

const limited = json({ error: { message: 'slow down', type: 'rate_limit_error' } }, 429, {
  'retry-after-ms': '1',
})
const down = json({ error: { message: 'overloaded', type: 'overloaded_error' } }, 503)

/** The requests are POSTs, which are declared as safe to repeat. */
const keyed = () => createFetch({ retry: { ...immediate, maxAttempts: 5, idempotencyKey: true } })

const keysOf = (seen: readonly { headers: Record<string, unknown> }[]) =>
  new Set(seen.map(({ headers }) => headers['idempotency-key']))

describe('openai', () => {
  const completion = {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
  }
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const client = (baseURL: string, fetch = keyed()) =>
    new OpenAI({ apiKey: 'secret', baseURL, fetch, maxRetries: 0 })

  it('gets its response from a server that rate limits, resets and fails', async () => {
    const server = await serve(limited, 'reset', down, json(completion))
    const answer = await client(server.url).chat.completions.create({ model: 'm', messages })
    expect(answer.choices[0]?.message.content).toBe('hello')
    expect(server.seen).toHaveLength(4)
    expect(keysOf(server.seen).size).toBe(1)
    expect(new Set(server.seen.map(({ body }) => body)).size).toBe(1)
  })

  it('gets an unchanged stream', async () => {
    const chunk = (content: string) =>
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}`
    const server = await serve(down, events(chunk('hel'), chunk('lo'), 'data: [DONE]'))
    const stream = await client(server.url).chat.completions.create({ model: 'm', messages, stream: true })
    let text = ''
    for await (const part of stream) text += part.choices[0]?.delta.content ?? ''
    expect(text).toBe('hello')
  })

  it('throws its own errors when the last response is an error', async () => {
    const server = await serve(...Array<Act>(5).fill(down))
    const asked = client(server.url).chat.completions.create({ model: 'm', messages })
    await expect(asked).rejects.toBeInstanceOf(OpenAI.InternalServerError)
  })

  it('does not send a POST without a key twice', async () => {
    const server = await serve(down)
    const asked = client(server.url, createFetch({ retry: immediate })).chat.completions.create({
      model: 'm',
      messages,
    })
    await expect(asked).rejects.toBeInstanceOf(OpenAI.InternalServerError)
    expect(server.seen).toHaveLength(1)
  })

  it('works with the preset', async () => {
    const server = await serve(json({ error: { message: 'locked' } }, 409), json(completion))
    const fetch = createFetch({
      ...openaiPreset,
      retry: { ...openaiPreset.retry, baseDelay: 1, retryNonIdempotent: true },
    })
    await client(server.url, fetch).chat.completions.create({ model: 'm', messages })
    expect(server.seen).toHaveLength(2)
  })

  it('is retried by the preset alone after 429, 503 and 529, but not when the quota is exhausted', async () => {
    const wait = { 'retry-after-ms': '1' }
    const server = await serve(limited, json({}, 503, wait), json({}, 529, wait), json(completion))
    const answer = await client(server.url, createFetch({ ...openaiPreset })).chat.completions.create({
      model: 'm',
      messages,
    })
    expect(answer.choices[0]?.message.content).toBe('hello')
    expect(server.seen).toHaveLength(4)

    const quota = { message: 'You exceeded your current quota', type: 'insufficient_quota', code: null }
    const poor = await serve(json({ error: { ...quota, code: 'insufficient_quota' } }, 429, wait))
    const asked = client(poor.url, createFetch({ ...openaiPreset })).chat.completions.create({
      model: 'm',
      messages,
    })
    await expect(asked).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' })
    expect(poor.seen).toHaveLength(1)
  })

  it('is not retried by the preset alone after 500', async () => {
    const server = await serve(json({}, 500, { 'retry-after-ms': '1' }))
    const asked = client(server.url, createFetch({ ...openaiPreset })).chat.completions.create({
      model: 'm',
      messages,
    })
    await expect(asked).rejects.toMatchObject({ status: 500 })
    expect(server.seen).toHaveLength(1)
  })

  it('receives the error of an open breaker', async () => {
    const breaker = new CircuitBreaker()
    breaker.trip()
    const asked = client('http://a.example', createFetch({ breaker })).models.list()
    await expect(asked).rejects.toMatchObject({ cause: { code: 'CIRCUIT_OPEN' } })
  })
})

describe('@anthropic-ai/sdk', () => {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'c',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const question = { model: 'c', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] }
  const client = (baseURL: string, fetch = keyed()) =>
    new Anthropic({ apiKey: 'secret', baseURL, fetch, maxRetries: 0 })

  it('is retried by the preset alone after 429, 503 and 529', async () => {
    const wait = { 'retry-after-ms': '1' }
    const server = await serve(json({}, 529, wait), limited, json({}, 503, wait), json(message))
    const answer = await client(server.url, createFetch({ ...anthropicPreset })).messages.create(question)
    expect(answer.content[0]).toMatchObject({ text: 'hello' })
    expect(server.seen).toHaveLength(4)
  })

  it('gets its response from a server that rate limits, resets and fails', async () => {
    const server = await serve('reset', json({}, 529), limited, json(message))
    const answer = await client(server.url).messages.create(question)
    expect(answer.content[0]).toMatchObject({ text: 'hello' })
    expect(server.seen).toHaveLength(4)
    expect(keysOf(server.seen).size).toBe(1)
  })

  it('gets an unchanged stream', async () => {
    const event = (type: string, more: object = {}) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}`
    const server = await serve(
      down,
      events(
        event('message_start', { message: { ...message, content: [] } }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }),
        event('content_block_stop', { index: 0 }),
        event('message_stop'),
      ),
    )
    let text = ''
    for await (const part of await client(server.url).messages.create({ ...question, stream: true }))
      if (part.type === 'content_block_delta' && part.delta.type === 'text_delta') text += part.delta.text
    expect(text).toBe('hello')
  })
})

describe('@notionhq/client', () => {
  const page = { object: 'page', id: 'p' }
  const client = (baseUrl: string, fetch = keyed()) =>
    new Notion({ auth: 'secret', baseUrl, fetch: fetch as never, retry: false })

  it('writes with the preset alone to a server that rate limits and is overloaded', async () => {
    const wait = { 'retry-after-ms': '1' }
    const server = await serve(limited, json({ code: 'service_overload' }, 529, wait), json(page))
    const notion = client(server.url, createFetch({ ...notionPreset }))
    const parent = { page_id: 'q' }
    expect(await notion.pages.create({ parent, properties: {} })).toMatchObject(page)
    expect(server.seen.map(({ method }) => method)).toEqual(Array(3).fill('POST'))
  })

  it('reads and writes with a server that rate limits, resets and fails', async () => {
    const server = await serve(limited, 'reset', down, json(page), 'reset', json(page))
    const notion = client(server.url)
    expect(await notion.pages.retrieve({ page_id: 'p' })).toMatchObject(page)
    expect(server.seen.map(({ method }) => method)).toEqual(Array(4).fill('GET'))
    expect(await notion.pages.update({ page_id: 'p', archived: true })).toMatchObject(page)
    expect(server.seen.slice(4).map(({ method, body }) => [method, body])).toEqual(
      Array(2).fill(['PATCH', '{"archived":true}']),
    )
    expect(keysOf(server.seen.slice(4)).size).toBe(1)
  })

  it('throws its own errors', async () => {
    const server = await serve(
      json({ object: 'error', code: 'object_not_found', message: 'no', status: 404 }, 404),
    )
    await expect(client(server.url).pages.retrieve({ page_id: 'p' })).rejects.toMatchObject({
      code: 'object_not_found',
    })
  })
})

describe('ky', () => {
  const client = (fetch = createFetch({ retry: { ...immediate, maxAttempts: 5 } })) =>
    ky.create({ fetch, retry: 0 })

  it('reads and writes by Requests with a server that resets and fails', async () => {
    const server = await serve(down, 'reset', json({ a: 1 }), down, 'reset', json({ b: 2 }))
    expect(await client().get(server.url).json()).toEqual({ a: 1 })
    expect(
      await client()
        .put(server.url, { json: { x: 'y' } })
        .json(),
    ).toEqual({ b: 2 })
    expect(server.seen.slice(3).map(({ body, headers }) => [body, headers['content-type']])).toEqual(
      Array(3).fill(['{"x":"y"}', 'application/json']),
    )
  })

  it('sends a POST again only after a refused connection', async () => {
    const server = await serve(down)
    await expect(client().post(server.url, { json: {} })).rejects.toThrow('503')
    expect(server.seen).toHaveLength(1)
    let attempts = 0
    const counting = createFetch({ retry: immediate })
    counting.on(({ type }) => {
      if (type === 'attempt_failed') attempts++
    })
    await expect(client(counting).post(await nobody(), { json: {} })).rejects.toThrow()
    expect(attempts).toBe(3)
  })

  it('can abort by its own timeout', async () => {
    const server = await serve('stall')
    await expect(client().get(server.url, { timeout: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
