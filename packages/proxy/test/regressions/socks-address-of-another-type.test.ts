import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openTunnel } from '../../src/connect/tunnel.js'
import { ProxyUpstream } from '../../src/connect/upstream.js'
import { ProxyConnectionError } from '../../src/index.js'
import { closeWithTest } from '../helpers/target.js'

/** A SOCKS5 proxy without a password, whose reply to the request is given. */
async function startSocksReplying(reply: string): Promise<ProxyUpstream> {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('\x05\x00')
      socket.once('data', () => socket.end(Buffer.from(reply, 'latin1')))
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new ProxyUpstream(`socks5://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

// The tunnel was open, and the rest of the reply was passed on as bytes of the target.
it('a SOCKS5 reply with an address of an unknown type is rejected', async () => {
  for (const type of ['\x00', '\x02', '\x09', '\xff']) {
    const upstream = await startSocksReplying(`\x05\x00\x00${type}\x7f\x00\x00\x01\x00\x50`)
    const error = await openTunnel(upstream, { host: 'target.example', port: 443 }).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ProxyConnectionError)
    expect((error as Error).message).toMatch(/unknown address type$/)
  }
})

it('a SOCKS5 reply with an IPv4 address, a name or an IPv6 address opens the tunnel', async () => {
  for (const address of ['\x01\x7f\x00\x00\x01', '\x03\x04host', '\x03\x00', `\x04${'\x00'.repeat(16)}`]) {
    const upstream = await startSocksReplying(`\x05\x00\x00${address}\x00\x50early`)
    const socket = await openTunnel(upstream, { host: 'target.example', port: 443 })
    onTestFinished(() => void socket.destroy())
    let received = ''
    for await (const chunk of socket) received += chunk
    expect(received).toBe('early')
  }
})
