import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ask, proxyFor } from '../helpers/clients.js'
import { startTarget, type Target } from '../helpers/target.js'
import { until } from '../helpers/until.js'

const IDLE_TIMEOUT = 3_600_000
const LARGE = 'x'.repeat(30_000_000)

/** A client of a proxy, and the target of its requests: it responds to `/large` at once and to other paths when it is told to. */
async function startClient() {
  const responses = new Map<string, ServerResponse>()
  const target = await startTarget(({ url }, response) => {
    if (url === '/large') response.end(LARGE)
    else responses.set(url, response)
  })
  const proxy = await proxyFor({ idleTimeout: IDLE_TIMEOUT })
  const client = connect(proxy.port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void client.destroy())
  const socket = await socketOf(proxy.port)
  let received = ''
  client.on('data', (chunk) => (received += chunk.toString('latin1')))
  return {
    target,
    client,
    socket,
    /** Zero if the connection has no timer. */
    timeout: () => socket.timeout ?? 0,
    received: () => received,
    respond: (path: string) => responses.get(path)?.end(`response to ${path}`),
    /** Resolves when a request has arrived, and the proxy has handled what it read before. */
    arrival: async (path: string) => {
      await until(() => responses.has(path))
      await ask(proxy, proxy.url)
    },
    /** Resolves when a response has arrived, and the proxy has noticed that it was sent. */
    response: async (path: string) => {
      await until(() => received.includes(`response to ${path}`))
      await ask(proxy, proxy.url)
    },
  }
}

/** The socket with which the proxy accepts the next connection. */
function socketOf(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const onSocket = (message: unknown): void => {
      const { socket } = message as { socket: Socket }
      if (socket.localPort !== port) return
      unsubscribe('net.server.socket', onSocket)
      resolve(socket)
    }
    subscribe('net.server.socket', onSocket)
  })
}

const get = ({ url }: Target, path: string, rest = '\r\n'): string =>
  `GET ${url}${path} HTTP/1.1\r\nHost: a\r\n${rest}`

describe('the idle timeout of a client connection', () => {
  it('does not apply while a pipelined request waits for its response after another was sent', async () => {
    const { target, client, timeout, respond, arrival, response } = await startClient()
    client.write(get(target, '/a') + get(target, '/b'))
    await arrival('/a')
    await arrival('/b')
    expect(timeout()).toBe(0)
    respond('/a')
    await response('/a')
    expect(timeout()).toBe(0)
    respond('/b')
    await response('/b')
    // Node closes the idle connection.
    expect(timeout()).toBeGreaterThanOrEqual(IDLE_TIMEOUT)
  })

  it('does not apply while the response to a pipelined request waits for the one before it', async () => {
    const { target, client, timeout, received, respond, arrival, response } = await startClient()
    client.write(get(target, '/a') + get(target, '/b'))
    await arrival('/a')
    await arrival('/b')
    respond('/b')
    client.write(get(target, '/c'))
    await arrival('/c')
    expect([received(), timeout()]).toEqual(['', 0])
    respond('/a')
    respond('/c')
    await response('/c')
    expect(received()).toMatch(/\/a[^]*\/b[^]*\/c/)
  })

  it.each([
    ['a request with a body', (target: Target) => get(target, '/b', 'Content-Length: 1\r\n\r\nb')],
    [
      'a request with a chunked body',
      (target: Target) => get(target, '/b', 'Transfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n'),
    ],
    ['CONNECT', ({ port }: Target) => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ])('applies to an unread response if %s is pipelined behind it', async (name, behind) => {
    const { target, client, socket, timeout, arrival } = await startClient()
    client.pause()
    client.write(get(target, '/large'))
    await until(() => socket.writableLength > 0)
    expect(timeout()).toBe(IDLE_TIMEOUT)
    const { bytesRead } = socket
    client.write(behind(target))
    if (name === 'CONNECT') await until(() => socket.bytesRead > bytesRead)
    else await arrival('/b')
    expect(timeout()).toBe(IDLE_TIMEOUT)
  })

  it('applies while a body is sent, and does not apply while the request then waits for its response', async () => {
    const { target, client, timeout, respond, arrival, response } = await startClient()
    client.write(get(target, '/a', 'Content-Length: 2\r\n\r\na'))
    await until(() => timeout() === IDLE_TIMEOUT)
    client.write('a')
    await arrival('/a')
    expect(timeout()).toBe(0)
    respond('/a')
    await response('/a')
    expect(timeout()).toBeGreaterThanOrEqual(IDLE_TIMEOUT)
  })

  it('does not apply to a request with a body that waits for the ones before it', async () => {
    const { target, client, timeout, respond, arrival, response } = await startClient()
    client.write(get(target, '/a') + get(target, '/b', 'Content-Length: 2\r\n\r\nb').replace('GET', 'POST'))
    await arrival('/a')
    expect(timeout()).toBe(0)
    respond('/a')
    await response('/a')
    expect(timeout()).toBe(IDLE_TIMEOUT)
    client.write('b')
    await arrival('/b')
    expect(timeout()).toBe(0)
  })
})
