import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { attemptCodec, Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app/app.js'
import { type Asked, asking } from '../fixture.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function target(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const POLICY = { maxAttempts: 3, backoffType: 'fixed', baseDelay: 7, jitterType: 'full', jitterAmount: 1 }

async function open(): Promise<{ hf: Holdfast; send: (body: object) => Promise<Asked> }> {
  const config = { version: '1.1.0', policies: { default: POLICY, off: { enabled: false } } }
  const hf = await Holdfast.open({ config, env: {}, watch: false })
  const app = createApp(hf, { dashboard: false, allowPrivateTargets: true })
  closers.push(async () => {
    await app.close()
    await hf.close()
  })
  const ask = asking(app)
  return { hf, send: (body) => ask('POST', '/api/v1/request', { body }) }
}

/** The attempts of the one session there is, as an answer spells them. */
async function recorded(hf: Holdfast): Promise<object[]> {
  const { items } = await hf.sessions.list()
  expect(items).toHaveLength(1)
  return (items[0]?.attempts ?? []).map((attempt) => attemptCodec.encode(attempt) as object)
}

describe('the attempts of a request', () => {
  test('that was answered in the end are those of its session, with the status of the answer', async () => {
    let calls = 0
    const url = await target((_, answer) => answer.writeHead(++calls < 3 ? 503 : 201).end())
    const { hf, send } = await open()
    const { body } = await send({ url })
    const [first, second, third] = await recorded(hf)
    expect(body.attempts).toEqual([first, second, { ...third, status_code: 201 }])
  })

  test('that was answered with a failure are those of its session', async () => {
    const url = await target((_, answer) => answer.writeHead(503).end())
    const { hf, send } = await open()
    const { body } = await send({ url })
    expect(body.status).toBe(503)
    expect(body.attempts).toEqual(await recorded(hf))
  })

  test('that was not answered are those of its session', async () => {
    const { hf, send } = await open()
    const { status, body } = await send({ url: 'http://127.0.0.1:1/' })
    expect(status).toBe(502)
    expect(body.details).toEqual(await recorded(hf))
  })

  test('that nothing is recorded of are one', async () => {
    const url = await target((_, answer) => answer.writeHead(503).end())
    const { send } = await open()
    const { body } = await send({ url, policy: 'off' })
    expect(body.attempts).toMatchObject([{ attempt_number: 1, outcome: 'failure', status_code: 503 }])
  })
})

describe('an invalid request', () => {
  test.each(['Host', 'content-length', 'Connection'])(
    'is rejected for the connection header %s',
    async (name) => {
      const { send } = await open()
      const { status, body } = await send({
        url: 'http://127.0.0.1:1/',
        headers: { accept: 'x', [name]: '1' },
      })
      expect(status).toBe(400)
      expect(body.details).toMatchObject([{ in: 'body', path: `headers.${name}` }])
      expect(body.details[0].message).toContain('connection')
      expect(body.message).toContain(`headers.${name}: `)
    },
  )

  test('is rejected for a header name with a space', async () => {
    const { send } = await open()
    const { body } = await send({ url: 'http://127.0.0.1:1/', headers: { 'a b': '1' } })
    expect(body.details).toMatchObject([
      { path: 'headers.a b', message: expect.stringContaining('name of a header') },
    ])
  })

  test.each(['GET', 'HEAD', 'get'])('is a %s with a body', async (method) => {
    const { send } = await open()
    const { status, body } = await send({ url: 'http://127.0.0.1:1/', method, body: 'x' })
    expect(status).toBe(400)
    expect(body.details).toMatchObject([{ in: 'body', path: 'body' }])
  })

  test('is none where its body is null, which is none', async () => {
    const url = await target((request, answer) => answer.end(String(request.headers['content-length'])))
    const { send } = await open()
    expect((await send({ url, body: null })).body).toMatchObject({ status: 200, body: 'undefined' })
  })

  test('is a request without a method and with a body', async () => {
    const { send } = await open()
    const { status, body } = await send({ url: 'http://127.0.0.1:1/', body: { a: 1 } })
    expect([status, body.details?.[0].path]).toEqual([400, 'body'])
  })
})
