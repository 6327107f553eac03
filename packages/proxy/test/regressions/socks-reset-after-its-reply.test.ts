import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openTunnel } from '../../src/connect/tunnel.js'
import { ProxyUpstream } from '../../src/connect/upstream.js'
import { ProxyConnectionError, proxyPool } from '../../src/index.js'
import { askThroughTunnel, proxyFor } from '../helpers/clients.js'
import { closeWithTest, startTarget } from '../helpers/target.js'
import { until } from '../helpers/until.js'
import { startSocks } from '../helpers/upstreams.js'

const REPLY = Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80])

/** A SOCKS5 proxy that opens every tunnel and then resets its connection. Counts the tunnels. */
async function startResettingSocks(rest: string): Promise<{ url: string; opened: () => number }> {
  let opened = 0
  const server = createServer((socket: Socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]))
      socket.once('data', () => {
        opened++
        socket.write(Buffer.concat([REPLY, Buffer.from(rest)]))
        socket.resetAndDestroy()
      })
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `socks5://127.0.0.1:${(server.address() as AddressInfo).port}`, opened: () => opened }
}

describe('a SOCKS5 proxy that resets its connection after it opened a tunnel', () => {
  it.each([
    ['', true],
    ['', false],
    ['bytes of the target', true],
    ['bytes of the target', false],
  ])('rejects the tunnel (after %j, half-open %s)', async (rest, isHalfOpen) => {
    const { url } = await startResettingSocks(rest)
    const opening = openTunnel(new ProxyUpstream(url), { host: 'a.example', port: 1 }, undefined, isHalfOpen)
    await expect(opening).rejects.toThrow(ProxyConnectionError)
  })

  it('is replaced by the next member of the pool', async () => {
    const target = await startTarget()
    const resetting = await startResettingSocks('')
    const members = [resetting.url, (await startSocks()).url]
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members }) })
    for (let i = 0; i < 4; i++) expect((await askThroughTunnel(proxy, `${target.url}/t`)).body).toBe('GET /t')
    expect(resetting.opened()).toBeGreaterThan(0)
    expect(proxy.status().tunnels).toBe(4)
    await until(() => proxy.status().openTunnels === 0)
  })
})
