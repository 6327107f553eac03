import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'
import { UnreadBodies } from '../../src/serve/unread-bodies.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function start(): Promise<number> {
  const hf = await Holdfast.open({ config: { version: '1.1.0' }, env: {}, watch: false })
  const server = await serve(hf, { port: 0 })
  closers.push(
    () => hf.close(),
    () => server.close(),
  )
  return server.port
}

/** Sends a part, waits for `until`, sends the rest, and gives all that came before the server closed, which is no error. */
const inParts = (port: number, first: string, until: RegExp, rest: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = ''
    let waiting = true
    const socket = connect(port, '127.0.0.1', () => socket.write(first))
    socket
      .on('data', (data) => {
        said += data
        if (!waiting || !until.test(said)) return
        waiting = false
        socket.write(rest)
      })
      .on('end', () => resolve(said))
      .on('error', reject)
  })

const PART = 'x'.repeat(100_000)

describe('a response before the body was read', () => {
  test.each([
    ['PUT', '/api/v1/policies/x', 413, 3_000_000],
    ['POST', '/api/v1/nothing', 404, 300_000],
    ['POST', '/api/v1/policies', 405, 300_000],
    ['POST', '/metrics', 405, 300_000],
    ['POST', '/health/live', 405, 300_000],
  ])('to %s %s says that the connection ends, and is read whole', async (method, path, status, length) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
    const said = await inParts(await start(), head + PART, /\}$/, 'x'.repeat(length - PART.length))
    expect(said).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(said).toMatch(/^connection: close\r$/im)
  })

  test('ends the connection of a chunked body that is too long', async () => {
    const chunk = `186a0\r\n${PART}\r\n`
    const head =
      'PUT /api/v1/policies/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const said = await inParts(await start(), head + chunk.repeat(20), /\}$/, `${chunk.repeat(20)}0\r\n\r\n`)
    expect(said).toMatch(/^HTTP\/1\.1 413 [\s\S]*^connection: close\r$/im)
  })

  test('does not handle requests behind it', async () => {
    const head = 'POST /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n'
    const next = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const said = await inParts(await start(), head + PART, /\}$/, PART + next)
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
  })

  test('keeps the connection if the body was complete', async () => {
    const head = 'POST /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}'
    const next = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
    const said = await inParts(await start(), head, /\}$/, next)
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
  })

  test('waits for the rest of the body only for a limited time', async () => {
    const unread = new UnreadBodies(10)
    const server = createServer((incoming, outgoing) => {
      unread.handle(incoming, outgoing, () => outgoing.end('{}'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => server.close())
    const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n'
    const said = await inParts((server.address() as AddressInfo).port, head, /\}$/, 'and')
    expect(said).toMatch(/^connection: close\r$/im)
  })
})
