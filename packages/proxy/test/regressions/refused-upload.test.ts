import { connect } from 'node:net'
import { systemClock } from 'holdfast/internal'
import { expect, it, onTestFinished, vi } from 'vitest'
import { LINGER_MS } from '../../src/server/linger.js'
import { proxyFor } from '../helpers/clients.js'

const BODY = 'x'.repeat(8_000_000)

/** Has the proxy wait for its clients without a limit, so that a slow machine can send everything. */
function lingerWithoutLimit(): void {
  const { setTimer } = systemClock
  const spy = vi
    .spyOn(systemClock, 'setTimer')
    .mockImplementation((callback, ms) => (ms === LINGER_MS ? undefined : setTimer(callback, ms)))
  onTestFinished(() => spy.mockRestore())
}

const users = [{ name: 'ann', password: 'pw' }]

it.each([
  ['a request', `POST http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n`],
  ['CONNECT', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a malformed request', 'POST http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'],
])(
  'lets a client that reads only after it has sent everything read the error response to %s',
  async (_name, head) => {
    lingerWithoutLimit()
    const proxy = await proxyFor({ users })
    for (let i = 0; i < 5; i++) {
      const socket = connect(proxy.port, '127.0.0.1')
      let got = ''
      const ended = new Promise<string>((resolve) => {
        socket.on('data', (chunk) => (got += chunk))
        socket.on('end', () => resolve('end')).on('error', (error) => resolve(String(error)))
      })
      // The client reads nothing before it has sent everything, as many do.
      socket.pause()
      socket.write(head)
      socket.write(BODY, () => socket.resume())
      socket.on('error', () => socket.resume())
      const how = await ended
      expect([how, got.slice(0, 12)]).toEqual(['end', expect.stringMatching(/^HTTP\/1\.1 4/)])
      socket.destroy()
    }
  },
)
