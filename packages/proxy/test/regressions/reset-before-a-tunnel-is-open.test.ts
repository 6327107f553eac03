import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Attempt } from 'holdfast'
import { describe, expect, it } from 'vitest'
import type { ProxyGuard } from '../../src/index.js'
import { proxyFor, raw } from '../helpers/clients.js'
import { closeWithTest } from '../helpers/target.js'
import { until } from '../helpers/until.js'
import { workerIds } from '../helpers/worker-ids.js'

/** A target whose connections are given to `onConnection`. */
async function startSockets(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection)
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const connectTo = (port: number): string => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`
const openWebSocket = (port: number): string =>
  `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`

describe('a target that resets its connection after it was connected and before the tunnel is open', () => {
  it.each([
    ['CONNECT', connectTo],
    ['a WebSocket', openWebSocket],
  ])('is answered with 502 (%s)', async (_name, requestTo) => {
    const accepted: Socket[] = []
    const port = await startSockets((socket) => void accepted.push(socket))
    /** A guard that completes after the connection was reset, as the call of a worker can. */
    const slow: ProxyGuard = {
      run: async <T>(fn: (attempt: Attempt) => T | PromiseLike<T>): Promise<T> => {
        const upstream = await fn({ number: 1, signal: new AbortController().signal, note: () => {} })
        await until(() => accepted.length > 0)
        accepted[0]?.resetAndDestroy()
        await until(() => (upstream as Socket).destroyed)
        return upstream
      },
    }
    const proxy = await proxyFor({ guard: () => slow })
    expect(await raw(proxy, requestTo(port))).toMatch(/^HTTP\/1\.1 502 /)
    expect(proxy.status()).toMatchObject({ tunnels: 0, openTunnels: 0, refused: 1 })
  })

  it('does not end the worker of the proxy', async () => {
    const port = await startSockets((socket) => void socket.resetAndDestroy())
    const proxy = await proxyFor({ workers: 2 })
    const started = workerIds()
    const requests = Array.from({ length: 40 }, (_, i) =>
      raw(proxy, [connectTo, openWebSocket][i % 2]?.(port) ?? ''),
    )
    for (const response of await Promise.all(requests)) expect(response).toMatch(/^HTTP\/1\.1 (?:200|502) /)
    expect(workerIds()).toEqual(started)
    await until(() => proxy.status().openTunnels === 0)
  })
})
