import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'

/** Sends bytes and returns everything that is received until the server closes the connection. */
async function untilClosed(port: number, text: string, onOpen?: (client: Socket) => void): Promise<string> {
  let received = ''
  const client = connect(port, '127.0.0.1', () => {
    client.write(text)
    onOpen?.(client)
  })
  onTestFinished(() => void client.destroy())
  client.on('error', () => {})
  client.on('data', (chunk) => (received += chunk.toString('latin1')))
  await new Promise((resolve) => client.on('close', resolve))
  return received
}

/** How many connections a test opens until its first request is in time. */
const MAX_CONNECTIONS = 20
const HALF_HEAD = 'GET /health HTTP/1.1\r\nHost: local'
const HALF_BODY = 'PUT /api/v1/policies/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{'

test.each([
  ['bytes that are not HTTP', 'garbage\r\n\r\n', ['200']],
  ['a request and bytes that are not HTTP', 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n\0\r\n', ['200', '200']],
  ['a part of a head', HALF_HEAD, ['200']],
  ['a part of a body', HALF_BODY, ['200']],
  ['a CONNECT request', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', ['200']],
])('a pending request gets its own response if %s follow on its connection', async (_, text, statuses) => {
  const hf = await Holdfast.open({ config: { version: '1.2.0' }, env: {}, watch: false })
  const options = { headerTimeout: 60, requestTimeout: 60, allowPrivateTargets: true }
  const server = await serve(hf, { port: 0, dashboard: false, ...options })
  const target = createServer().listen(0, '127.0.0.1')
  await once(target, 'listening')
  onTestFinished(async () => {
    target.closeAllConnections()
    target.close()
    await server.close()
    await hf.close()
  })
  const body = JSON.stringify({ url: `http://127.0.0.1:${(target.address() as AddressInfo).port}/` })
  const request =
    'POST /api/v1/request HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  const asked = once(target, 'request') as Promise<[unknown, ServerResponse]>
  let received: Promise<string>
  let first: [unknown, ServerResponse] | undefined
  let connections = 0
  do {
    expect(++connections).toBeLessThanOrEqual(MAX_CONNECTIONS)
    received = untilClosed(server.port, request, (client) => {
      void asked.then(() => client.write(text))
    })
    // On a busy machine the pending request may come too late as well.
    first = await Promise.race([asked, received.then(() => undefined)])
    if (first === undefined) expect(await received).toMatch(/^HTTP\/1\.1 408 /)
  } while (first === undefined)
  const [, response] = first
  // A request that began later is timed out, so the other one is too.
  for (let i = 0; i < 2; i++) expect(await untilClosed(server.port, HALF_HEAD)).toMatch(/^HTTP\/1\.1 408 /)
  response.end('from the target')
  const said = await received
  expect(said.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(-3))).toEqual(statuses)
  expect(said).toContain('from the target')
  expect(said).toMatch(/^connection: close\r$/im)
})
