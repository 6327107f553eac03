// The timeout of a head was ignored while earlier requests kept its connection from being read, and Node does not report it again.
import type { ServerResponse } from 'node:http'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { closeWithTest, startTarget } from '../helpers/target.js'
import { turn, until } from '../helpers/until.js'

const HALF_HEAD = 'GET / HTTP/1.1\r\nHost: loc'

/** A machine may be so busy that it reads the first head of a connection too late. */
const MAX_CONNECTIONS = 20

/**
 * A connection on which the proxy has read twelve requests and the beginning of another one, whose timeout is over. The proxy
 * handles ten requests at a time, and does not read the connection while the others wait, which is until `release` is called.
 */
async function startPaused(text: string) {
  const held: ServerResponse[] = []
  let isOpen = false
  const target = await startTarget((_, response) => {
    if (isOpen) response.end()
    else held.push(response)
  })
  const proxy = await proxyFor({ headTimeout: 100 })
  /** Resolves when a head that begins now has been timed out. */
  const timeOut = async (): Promise<void> => expect(await raw(proxy, HALF_HEAD)).toMatch(/^HTTP\/1\.1 408 /)
  const open = () => {
    let received = ''
    const client = connect(proxy.port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    client.on('error', () => {}).on('data', (chunk) => (received += chunk.toString('latin1')))
    client.write(`GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(12) + text)
    return { client, received: () => received, statuses: () => received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [] }
  }
  let opened = open()
  for (let count = 1; ; count++) {
    await until(() => held.length === 10 || opened.client.closed)
    if (held.length === 10) break
    expect([count, opened.received()]).toEqual([count, expect.stringMatching(/^HTTP\/1\.1 408 /)])
    expect(count).toBeLessThan(MAX_CONNECTIONS)
    opened = open()
  }
  await timeOut()
  return {
    ...opened,
    timeOut,
    release: () => {
      isOpen = true
      for (const response of held) response.end()
    },
  }
}

it('times out a pipelined head whose end does not arrive after the connection was paused', async () => {
  const { client, release, statuses, timeOut } = await startPaused(HALF_HEAD)
  release()
  await until(() => client.closed || statuses().length >= 12)
  // The head gets its time twice at most, if the timer was set while the connection was paused.
  for (let i = 0; i < 4 && !client.closed; i++) await timeOut()
  for (let i = 0; i < 100 && !client.closed; i++) await turn()
  expect(client.closed).toBe(true)
  // A head that is late while responses are pending gets none.
  expect(statuses().join(' ')).toMatch(/^(200 ?){12}(408)?$/)
})

it('does not time out a tunnel whose CONNECT was late because the connection was paused', async () => {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  closeWithTest(echo)
  await until(() => echo.listening)
  const { port } = echo.address() as { port: number }
  const { client, release, received, timeOut } = await startPaused(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n`)
  await new Promise((resolve) => client.write('Host: a\r\n\r\n', resolve))
  release()
  await until(() => client.closed || received().includes('200 Connection'))
  for (let i = 0; i < 3; i++) await timeOut()
  client.write('through the tunnel')
  await until(() => client.closed || received().includes('through the tunnel'))
  expect(received()).toMatch(/through the tunnel$/)
  expect(received()).not.toContain('HTTP/1.1 408 ')
})
