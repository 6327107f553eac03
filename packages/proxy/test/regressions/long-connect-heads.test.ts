import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTunnel } from '../../src/connect/tunnel.js'
import { ProxyUpstream } from '../../src/connect/upstream.js'
import { ProxyConnectionError } from '../../src/index.js'
import { closeWithTest } from '../helpers/target.js'
import { turn } from '../helpers/until.js'

/** A head that opens a tunnel, of exactly so many bytes with its empty line. */
function headOf(bytes: number): string {
  const [start, end] = ['HTTP/1.1 200 OK\r\nX: ', '\r\n\r\n']
  return `${start}${'x'.repeat(bytes - start.length - end.length)}${end}`
}

async function sendPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece)
    await turn()
  }
  socket.end()
}

/** An HTTP proxy that answers CONNECT with these pieces. */
async function startUpstream(pieces: readonly string[]): Promise<ProxyUpstream> {
  const server = createServer((socket) => {
    socket.once('data', () => void sendPieces(socket, pieces))
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new ProxyUpstream(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/** Opens a tunnel and returns the bytes that arrive through it. */
async function readTunnel(upstream: ProxyUpstream): Promise<string> {
  const socket = await openTunnel(upstream, { host: 'target.example', port: 443 })
  onTestFinished(() => void socket.destroy())
  let received = ''
  for await (const chunk of socket) received += chunk
  return received
}

describe.each([
  ['one piece', (text: string) => [text]],
  ['two pieces', (text: string) => [text.slice(0, 10_000), text.slice(10_000)]],
  ['a last piece of one byte', (text: string) => [text.slice(0, -1), text.slice(-1)]],
] as const)('the head of a response to CONNECT in %s', (_name, split) => {
  it('opens the tunnel if it has 16,384 bytes', async () => {
    expect(await readTunnel(await startUpstream(split(headOf(16_384))))).toBe('')
    expect(await readTunnel(await startUpstream(split(`${headOf(16_384)}${'y'.repeat(20_000)}`)))).toBe(
      'y'.repeat(20_000),
    )
  })

  it.each([16_385, 40_000])('is rejected if it has %i bytes', async (bytes) => {
    const error = await readTunnel(await startUpstream(split(headOf(bytes)))).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ProxyConnectionError)
    expect((error as Error).message).toMatch(/sent a response head of more than 16384 bytes$/)
  })

  it('is rejected if it has 16,385 bytes without an end', async () => {
    const text = headOf(17_000).slice(0, 16_385)
    await expect(readTunnel(await startUpstream(split(text)))).rejects.toThrow(
      'sent a response head of more than 16384 bytes',
    )
  })
})
