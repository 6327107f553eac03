import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, test } from 'vitest'
import type { ServeOptions } from '../../src/serve/options.js'
import { type RunningServer, serve } from '../../src/serve/serve.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const logged: unknown[][] = []

async function start(options: ServeOptions = {}, config: object = {}): Promise<RunningServer> {
  logged.length = 0
  const hf = await Holdfast.open({ config: { version: '1.1.0', ...config }, env: {}, watch: false })
  const logger = { error: (...line: unknown[]) => void logged.push(line) }
  const server = await serve(hf, { port: 0, dashboard: false, logger, ...options })
  closers.push(
    () => hf.close(),
    () => server.close(),
  )
  return server
}

/** Everything that a connection receives until the server closes it. */
async function untilClosed(
  port: number,
  text: string,
  more?: (socket: Socket, said: string) => void,
): Promise<string> {
  let said = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  closers.push(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.on('data', (data) => {
    said += data
    more?.(socket, said)
  })
  // Not by `once`, which rejects for a reset.
  await new Promise((resolve) => socket.on('close', resolve))
  return said
}

/** The answer to a request, once the server has room for its connection. */
async function untilAnswered(port: number): Promise<string> {
  let said = ''
  while (said === '') said = await untilClosed(port, `${GET}Connection: close\r\n\r\n`)
  return said
}

const GET = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n'
const SAFE = [/^x-content-type-options: nosniff\r$/im, /^x-frame-options: DENY\r$/im, /^x-request-id: /im]

describe('a client that is slow', () => {
  test.each([
    ['sends nothing', ''],
    ['does not finish the head', GET],
  ])('and %s is answered 408 after the header timeout', async (_, text) => {
    const { port } = await start({ headerTimeout: 60, requestTimeout: '1h' })
    const said = await untilClosed(port, text)
    expect(said).toMatch(/^HTTP\/1\.1 408 /)
    for (const header of SAFE) expect(said).toMatch(header)
  })

  test('and does not finish the body is answered 408 after the request timeout', async () => {
    const { port } = await start({ headerTimeout: '1h', requestTimeout: 60 })
    const head = 'PUT /api/v1/policies/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"max'
    expect(await untilClosed(port, head)).toMatch(/^HTTP\/1\.1 408 /)
    expect(logged).toEqual([])
  })

  test('and sends no further request is disconnected after the idle timeout', async () => {
    const { port } = await start({ idleTimeout: 60 })
    let said = ''
    // On a busy machine the first request may come too late as well.
    while (said === '') said = await untilClosed(port, `${GET}\r\n`)
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  })

  test('and does not read its answers is disconnected after the idle timeout', async () => {
    // The other timeouts do not end the connection.
    const { port } = await start({
      idleTimeout: 100,
      headerTimeout: '1h',
      requestTimeout: '1h',
      maxConnections: 1,
    })
    const socket = connect(port, '127.0.0.1')
    closers.push(() => socket.destroy())
    socket.on('error', () => undefined)
    // More answers than the buffers of both ends hold.
    socket.pause().write(`GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(400))
    await once(socket, 'connect')
    expect(await untilAnswered(port)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('takes its limits from the file', async () => {
    const { port } = await start({}, { version: '1.2.0', server: { headerTimeout: 60, requestTimeout: 60 } })
    expect(await untilClosed(port, GET)).toMatch(/^HTTP\/1\.1 408 /)
  })
})

/** Short timeouts, which a request on a busy machine may miss before the server has read it: then it is sent again. */
const SHORT = { idleTimeout: 100, headerTimeout: 100, requestTimeout: 100 }

async function untilRead(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await send().catch(() => undefined)
    if (answer !== undefined && answer.status !== 408) return answer
  }
}

describe('the idle timeout', () => {
  test('leaves the event stream open', async () => {
    const { url } = await start({ ...SHORT, heartbeat: 400 })
    const answer = await untilRead(() => fetch(`${url}/api/v1/events`))
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    let said = ''
    // The second heartbeat comes long after every timeout.
    while (said.split(': beat').length < 3) {
      const { done, value } = await reader.read()
      expect(done).toBe(false)
      said += new TextDecoder().decode(value)
    }
    await reader.cancel()
  })

  test('leaves a request open that waits for its answer', async () => {
    const upstream = createServer((_, response) => {
      // oxlint-disable-next-line holdfast/clock -- the timeouts of connections are real time
      setTimeout(() => response.end('late'), 400)
    }).listen(0, '127.0.0.1')
    closers.push(() => upstream.close())
    await once(upstream, 'listening')
    const { url } = await start({ ...SHORT, allowPrivateTargets: true })
    const body = JSON.stringify({ url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/` })
    const headers = { 'content-type': 'application/json' }
    const answer = await untilRead(() => fetch(`${url}/api/v1/request`, { method: 'POST', headers, body }))
    expect(await answer.json()).toMatchObject({ status: 200, body: 'late' })
  })
})

describe('the limit of connections', () => {
  test('closes further connections, logs that once, and accepts new ones when others have closed', async () => {
    const { port } = await start({ maxConnections: 2 })
    const open = async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1')
      closers.push(() => socket.destroy())
      socket.on('error', () => undefined)
      socket.write(`${GET}\r\n`)
      await once(socket, 'data')
      return socket
    }
    const first = await open()
    await open()
    expect(await untilClosed(port, '')).toBe('')
    expect(await untilClosed(port, '')).toBe('')
    expect(logged).toHaveLength(1)
    expect(logged[0]?.[1]).toMatch(/connection limit reached \(2\).*server\.max_connections/)
    first.destroy()
    expect(await untilAnswered(port)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each([
    ['headerTimeout', 0],
    ['requestTimeout', -1],
    ['idleTimeout', 'soon'],
    ['maxConnections', 0],
  ])('and %s: %s is rejected', async (name, value) => {
    await expect(start({ [name]: value } as ServeOptions)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(`${name}: expected`),
    })
  })
})

describe('a request that can be read in two ways', () => {
  test.each([
    [
      'two different Host lines',
      400,
      'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n',
    ],
    ['two equal Host lines', 400, 'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'],
    ['no Host line', 400, 'GET /health HTTP/1.1\r\n\r\n'],
    ['a Host that is no name', 400, 'GET /health HTTP/1.1\r\nHost: a b\r\n\r\n'],
    [
      'another transfer coding',
      501,
      'POST /api/v1/config/validate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a length and chunks',
      400,
      'POST /api/v1/config/validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['an expectation', 417, 'GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: cake\r\n\r\n'],
    ['a space in a name', 400, 'GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    ['a head of 20 kB', 431, `GET /health HTTP/1.1\r\nHost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['no HTTP', 400, 'hello\r\n\r\n'],
  ])(
    '(%s) is answered %i with the headers of every answer, and nothing after it is carried out',
    async (_, status, text) => {
      const { port } = await start()
      const said = await untilClosed(port, `${text}${GET}\r\n`, (socket) => socket.end())
      expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`])
      for (const header of SAFE) expect(said).toMatch(header)
      expect(said).toMatch(/^connection: close\r$/im)
      expect(JSON.parse(said.slice(said.indexOf('\r\n\r\n')))).toMatchObject({ error: 'BAD_REQUEST' })
    },
  )

  test('(CONNECT, which is for the forward proxy) is answered 405 with a hint', async () => {
    const { port } = await start()
    const said = await untilClosed(port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')
    expect(said).toMatch(/^HTTP\/1\.1 405 /)
    for (const header of SAFE) expect(said).toMatch(header)
    expect(said).toContain('proxy.port')
  })

  test('(HTTP/1.0 with chunks) is the last of its connection', async () => {
    const { port } = await start()
    const head = 'POST /api/v1/config/validate HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n'
    const said = await untilClosed(port, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${GET}\r\n`)
    expect(said.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1)
  })
})
