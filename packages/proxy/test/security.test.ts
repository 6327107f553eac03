import { type AddressInfo, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Agent, type Dispatcher } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ask, proxyFor, raw } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'

/** One gigabyte of zeros is about one megabyte of gzip; this is a tenth of it. */
const EXPANDED_BYTES = 100_000_000

describe('a compressed response', () => {
  it('is forwarded without being expanded', async () => {
    const bomb = gzipSync(Buffer.alloc(EXPANDED_BYTES), { level: 9 })
    const target = await startTarget((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end(bomb)
    })
    const got = await raw(
      await proxyFor(),
      `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(got).toMatch(/content-encoding: gzip/i)
    const body = Buffer.from(got.slice(got.indexOf('\r\n\r\n') + 4), 'latin1')
    expect(body.length).toBeLessThan(2 * bomb.length)
    expect(body.includes(bomb.subarray(0, 1000))).toBe(true)
  })
})

describe('a header of a target', () => {
  const SPLITS = ['\r', '\n', '\r\n', '\0'] as const

  /** A target that answers with a header whose value contains these characters. */
  const startSplitting = (status: string, split: string) => {
    const bytes = `HTTP/1.1 ${status}\r\nX-A: b${split}Set-Cookie: evil=1\r\n`
    const upgrade = status.startsWith('101') ? 'Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n' : ''
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(`${bytes}${upgrade || 'Content-Length: 0\r\n\r\n'}`))
    })
    closeWithTest(server)
    return new Promise<string>((resolve) =>
      server.listen(0, '127.0.0.1', () =>
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
      ),
    )
  }
  const PLAIN = 'Connection: close\r\n'
  const WEBSOCKET = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`

  // LF ends a line for this proxy and for the client, so that only CR can be read in two ways.
  it.each(
    (['\r', '\0'] as const).flatMap((split) => [
      ['the response to a request', split, '200 OK', PLAIN] as const,
      ['the response to a WebSocket handshake', split, '101 Switching Protocols', WEBSOCKET] as const,
      ['the rejection of a WebSocket handshake', split, '403 Forbidden', WEBSOCKET] as const,
    ]),
  )('cannot add a header or a response to %s, with %j in a value', async (_, split, status, fields) => {
    const url = await startSplitting(status, split)
    const got = await raw(await proxyFor(), `GET ${url} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)
    expect(got).toMatch(/^HTTP\/1\.1 502 /)
    expect(got).not.toContain('evil')
  })

  it.each(SPLITS)(
    'cannot add a header or a response even if the HTTP client accepts %j in a value',
    async (split) => {
      // In place of the HTTP client of the proxy. Everything else is real.
      const dispatch = vi.spyOn(Agent.prototype, 'dispatch').mockImplementation((_options, handler) => {
        const rawHeaders = ['X-A', `b${split}Set-Cookie: evil=1`, 'Content-Length', '0'].map((text) =>
          Buffer.from(text),
        )
        const controller = { rawHeaders, pause() {}, resume() {}, abort() {} }
        const receiver = handler as Required<Dispatcher.DispatchHandler>
        receiver.onRequestStart(controller as never, {})
        receiver.onResponseStart(controller as never, 200, {}, 'OK')
        receiver.onResponseEnd(controller as never, {})
        return true
      })
      onTestFinished(() => dispatch.mockRestore())
      const got = await raw(
        await proxyFor(),
        'GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      )
      expect(dispatch).toHaveBeenCalled()
      expect(got).toMatch(/^HTTP\/1\.1 502 /)
      expect(got).not.toContain('evil')
    },
  )
})

describe('the addresses of metadata services', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://metadata.google.internal/',
    'http://100.100.100.200/',
    'http://0xA9FEA9FE/',
    'http://2852039166/',
    'http://[::ffff:169.254.169.254]/',
    'http://127.1/',
    'http://localhost./',
  ])('are answered with 403: %s', async (url) => {
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }]
    const proxy = await proxyFor({ allowPrivateTargets: false, resolve })
    expect((await ask(proxy, url)).status).toBe(403)
  })
})
