import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'
import { UnreadBodies } from '../../src/serve/unread-bodies.js'
import { open } from '../fixture.js'

test('a HEAD request for the event stream opens no reader', async () => {
  const { app, ask } = await open({ maxReaders: 1 })
  const head = await ask('HEAD', '/api/v1/events')
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const answer = await app.request('http://localhost/api/v1/events')
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
})

test('a reader of the event stream ends with its request, although nothing reads its stream', async () => {
  const { app } = await open({ maxReaders: 1 })
  const leaving = new AbortController()
  const { signal } = leaving
  const abandoned = await app.request('http://localhost/api/v1/events', { signal })
  expect(abandoned.status).toBe(200)
  leaving.abort()
  const answer = await app.request('http://localhost/api/v1/events')
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
})

test('a client that disconnects while its token is read opens no reader of the event stream', async () => {
  const hf = await Holdfast.open({ config: { version: '1.2.0' }, env: {}, watch: false })
  const server = await serve(hf, { port: 0, dashboard: false, maxReaders: 1 })
  onTestFinished(async () => {
    await server.close()
    await hf.close()
  })
  const { values } = hf.store
  const list = values.list.bind(values)
  let release = () => {}
  const isListed = new Promise<void>((resolve) => {
    values.list = async (prefix) => {
      values.list = list
      resolve()
      await new Promise<void>((done) => {
        release = done
      })
      return list(prefix)
    }
  })
  const client = connect(server.port, '127.0.0.1')
  client.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await isListed
  client.destroy()
  // These are answered after the server has noticed the end of the other connection.
  for (let i = 0; i < 3; i++) await fetch(`${server.url}/health/live`)
  release()
  for (let i = 0; i < 3; i++) await fetch(`${server.url}/health/live`)
  const answer = await fetch(`${server.url}/api/v1/events`)
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
})

test('a client that disconnects while an earlier request is pending leaves no reader of the event stream', async () => {
  const hf = await Holdfast.open({ config: { version: '1.2.0' }, env: {}, watch: false })
  const server = await serve(hf, { port: 0, dashboard: false, maxReaders: 1 })
  let release = () => {}
  onTestFinished(async () => {
    release()
    await server.close()
    await hf.close()
  })
  const { values } = hf.store
  const list = values.list.bind(values)
  values.list = async (prefix) => {
    values.list = list
    await new Promise<void>((done) => {
      release = done
    })
    return list(prefix)
  }
  const client = connect(server.port, '127.0.0.1')
  client.write('GET /api/v1/policies HTTP/1.1\r\nHost: localhost\r\n\r\n')
  client.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(client, 'connect')
  let status = 200
  while (status === 200) {
    const other = await fetch(`${server.url}/api/v1/events`)
    status = other.status
    await other.body?.cancel()
  }
  expect(status).toBe(429)
  client.destroy()
  for (let i = 0; i < 3; i++) await fetch(`${server.url}/health/live`)
  const answer = await fetch(`${server.url}/api/v1/events`)
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
})

test('a request with a body is not handled if its client disconnects before', async () => {
  const unread = new UnreadBodies()
  let isHandled = false
  const server = createServer((incoming, outgoing) => {
    unread.handle(incoming, outgoing, () => {
      isHandled = true
    })
    incoming.socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx')
  await new Promise((resolve) => client.on('close', resolve))
  expect(isHandled).toBe(false)
})
