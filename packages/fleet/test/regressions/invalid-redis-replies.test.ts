import { systemClock, systemRandom } from 'holdfast/internal'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { READ } from '../../src/lua/scripts.js'
import { ioredisDriver } from '../../src/redis-client.js'
import { RedisConnection } from '../../src/redis-connection.js'
import { bulk, FakeRedis, PASSWORD, VALUE } from '../fake-redis.js'

// ioredis threw outside of every call for some replies, which ended the process, and a few bytes could make it allocate gigabytes.

const server = await FakeRedis.start()
afterAll(() => server.close())

interface Opened {
  connection: RedisConnection
  reasons: (string | undefined)[]
  /** Resolves when the connection is up. */
  up(): Promise<void>
}

/** Opens a connection. */
async function open(url = server.url): Promise<Opened> {
  const reasons: (string | undefined)[] = []
  let onUp = () => {}
  const connection = await RedisConnection.open(url, {
    clock: systemClock,
    random: systemRandom,
    driver: ioredisDriver,
    resolvePath: (path) => path,
    onChanged(isUp, reason) {
      reasons.push(reason)
      if (isUp) onUp()
    },
    onMessage: () => {},
  })
  onTestFinished(() => {
    server.invalid = undefined
    connection.close()
  })
  const up = () =>
    connection.isUp
      ? Promise.resolve()
      : new Promise<void>((resolve) => {
          onUp = resolve
        })
  return { connection, reasons, up }
}

/** The commands of a client before it subscribes or is pinged. */
const HANDSHAKE = 4

describe('a Redis server that sends an invalid reply', () => {
  it.each([
    ['null for a subscription', HANDSHAKE, '_\r\n'],
    ['a number for a subscription', HANDSHAKE, ':1\r\n'],
    ['an empty list for a subscription', HANDSHAKE, '*0\r\n'],
    ['null to no command', HANDSHAKE, '+PONG\r\n$-1\r\n'],
    ['a message whose channel is null', 0, `>3\r\n${bulk('message')}_\r\n${bulk('x')}`],
    ['a message that begins with null', 0, '>2\r\n_\r\n_\r\n'],
    ['lists of a million values in lists', 0, '*1000000\r\n'.repeat(30)],
  ])('loses its connections, and is used again when it is correct: %s', async (_, correct, reply) => {
    server.invalid = { correct, parts: [Buffer.from(reply, 'latin1')], staysOpen: true }
    const { connection, up } = await open()
    await server.connectionLost()
    server.invalid = undefined
    server.disconnect()
    await up()
    expect(await connection.send('GET', 'x')).toBe(VALUE)
  })

  it('does not show the password in an error that repeats it', async () => {
    const { connection, reasons, up } = await open()
    await up()
    server.replies.set('GET', `-NOAUTH wrong ${PASSWORD}\r\n`)
    onTestFinished(() => server.replies.clear())
    await expect(connection.send('GET', 'x')).rejects.toThrow('NOAUTH wrong [redacted]')
    expect(reasons).toEqual([undefined, 'NOAUTH wrong [redacted]'])
  })

  // The redacted code was unknown, so that a script was not sent.
  it('recognizes the code of an error of which the password is a part', async () => {
    const { connection, up } = await open(server.urlWith('SCRIPT'))
    await up()
    server.replies.set('EVALSHA', '-NOSCRIPT No matching SCRIPT\r\n')
    onTestFinished(() => server.replies.clear())
    expect(await connection.run(READ, ['holdfast:{x}'], [])).toBe(1)
    await expect(connection.send('EVALSHA', 'x')).rejects.toThrow('NOSCRIPT No matching [redacted]')
  })

  // The error of the stream was lost, so that the reason was only that the connection ended.
  it('is the reason of the loss', async () => {
    const { connection, reasons, up } = await open()
    await up()
    server.replies.set('GET', '?1\r\n')
    onTestFinished(() => server.replies.clear())
    await expect(connection.send('GET', 'x')).rejects.toThrow()
    await expect.poll(() => reasons[1]).toBe('Redis sent an invalid reply: a value of an unknown type')
  })

  it('is the reason why a connection is not established', async () => {
    server.replies.set('hello', 'HTTP/1.1 400 Bad Request\r\n')
    onTestFinished(() => server.replies.clear())
    const { connection } = await open()
    await expect
      .poll(() => connection.rejection)
      .toBe('Redis sent an invalid reply: a value of an unknown type')
  })
})
