import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { ask, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'
import { turn } from '../helpers/until.js'

it('handles a limited number of pipelined requests at a time, and answers all in order', async () => {
  const held: ServerResponse[] = []
  let isOpen = false
  const target = await startTarget(({ url }, response) => {
    response.setHeader('x-url', url)
    if (isOpen || url === '/other') response.end()
    else held.push(response)
  })
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const proxy = await proxyFor()
  const urls = Array.from({ length: 2000 }, (_, i) => `/${i}`)
  const client = connect(proxy.port, '127.0.0.1')
  let got = ''
  const done = new Promise<void>((resolve) => {
    client.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (got.includes('x-url: /1999\r\n')) resolve()
    })
  })
  client.write(urls.map((url) => `GET ${target.url}${url} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  while (held.length === 0) await turn()
  for (let i = 0; i < 20; i++) await ask(proxy, `${target.url}/other`)
  expect(held.length).toBeLessThanOrEqual(10)
  isOpen = true
  for (const response of held) response.end()
  await done
  expect([...got.matchAll(/^x-url: (.*)\r$/gm)].map(([, url]) => url)).toEqual(urls)
  expect(warnings).toEqual([])
  client.destroy()
})

/** Counts the requests that a server on a port has read and not answered yet, until the test ends. */
function countUnanswered(port: number): { now: number; max: number } {
  const count = { now: 0, max: 0 }
  const isOf = (message: unknown): boolean => (message as { socket: Socket }).socket.localPort === port
  const onStart = (message: unknown): void => {
    if (isOf(message)) count.max = Math.max(count.max, ++count.now)
  }
  const onFinish = (message: unknown): void => {
    if (isOf(message)) count.now--
  }
  subscribe('http.server.request.start', onStart)
  subscribe('http.server.response.finish', onFinish)
  onTestFinished(() => {
    unsubscribe('http.server.request.start', onStart)
    unsubscribe('http.server.response.finish', onFinish)
  })
  return count
}

/** More than one read of a socket returns (64 KiB), in requests of 1 KiB, together with those that run. */
const MAX_UNANSWERED = 64 + 10 + 10
const padding = 'x'.repeat(1000)

it.each([
  ['short responses', 10],
  ['responses that fill the connection', 200_000],
])('stops reading pipelined requests while some are waiting (%s)', async (_name, size) => {
  const target = await startTarget((_, response) => response.end('x'.repeat(size)))
  const proxy = await proxyFor()
  const count = countUnanswered(proxy.port)
  const client = connect(proxy.port, '127.0.0.1')
  let received = 0
  const done = new Promise<void>((resolve) => {
    client.on('data', (chunk) => {
      received += chunk.length
      if (received > 500 * size) resolve()
    })
  })
  client.write(`GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nX: ${padding}\r\n\r\n`.repeat(500))
  await done
  expect(count.max).toBeLessThanOrEqual(MAX_UNANSWERED)
  client.destroy()
})

it('reads no pipelined requests after one that closes the connection', async () => {
  const held: ServerResponse[] = []
  const target = await startTarget((_, response) => void held.push(response))
  const proxy = await proxyFor()
  const count = countUnanswered(proxy.port)
  const client = connect(proxy.port, '127.0.0.1')
  let got = ''
  const closed = new Promise<void>((resolve) => {
    client.on('data', (chunk) => (got += chunk.toString('latin1'))).on('close', () => resolve())
  })
  client.on('error', () => {})
  const first = `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n\r\n`
  const ambiguous = `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`
  const next = `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nX: ${padding}\r\n\r\n`
  client.write(first + ambiguous + next.repeat(1000))
  while (held.length === 0) await turn()
  for (let i = 0; i < 20; i++) await ask(proxy, proxy.url)
  expect(count.max).toBeLessThanOrEqual(MAX_UNANSWERED)
  for (const response of held) response.end()
  await closed
  expect(got.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
})

it('does not time out a request head that it stopped reading', async () => {
  const held: ServerResponse[] = []
  let isOpen = false
  const target = await startTarget((_, response) => {
    if (isOpen) response.end()
    else held.push(response)
  })
  const proxy = await proxyFor({ headTimeout: 200 })
  const client = connect(proxy.port, '127.0.0.1')
  let got = ''
  const done = new Promise<void>((resolve) => {
    client.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (got.includes('404 Not Found')) resolve()
    })
    client.on('close', () => resolve())
  })
  const request = `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nX: ${padding}\r\n\r\n`
  client.write(`${request.repeat(300)}GET /none HTTP/1.1\r\nHost: a\r\n\r\n`)
  while (held.length === 0) await turn()
  // A head that began later is timed out.
  expect(await raw(proxy, 'GET http://a/')).toMatch(/^HTTP\/1\.1 408 /)
  isOpen = true
  for (const response of held) response.end()
  await done
  expect(got.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(300)
  client.destroy()
})
