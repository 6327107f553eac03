import { inspect } from 'node:util'
import fc from 'fast-check'
import type { Clock } from 'holdfast'
import { systemClock, systemRandom } from 'holdfast/internal'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { READ } from '../../src/lua/scripts.js'
import { ioredisDriver, type RedisDriver } from '../../src/redis-client.js'
import { RedisConnection } from '../../src/redis-connection.js'
import { bulk, FakeRedis, PASSWORD, VALUE } from '../fake-redis.js'

const LANES = 8

/** Ends a part of the replies. The server sends the next part when it has received a command. */
const PART_END = '\xf0--\xf0'

/** The product waits a tenth of its usual times. */
const SPEED = 10
const fastClock: Clock = {
  ...systemClock,
  setTimer: (fn, ms) => systemClock.setTimer(fn, ms / SPEED),
}

/** ioredis, which connects again at once. */
const driver: RedisDriver = {
  ...ioredisDriver,
  async load() {
    const loaded = await ioredisDriver.load()
    const { Redis } = loaded
    const Client = function createClient(settings: object) {
      return new Redis({ ...settings, retryStrategy: () => 1 })
    } as unknown as typeof Redis
    return { ...loaded, Redis: Client }
  },
}

/** More than any case needs: the largest reply is 64 MiB. */
const MAX_GROWTH_BYTES = 128 * 2 ** 20

const LENGTHS = [
  '-1',
  '0',
  '1',
  '2',
  '3',
  '-2',
  '30',
  '65536',
  '30000000',
  '2147483647',
  '4294967295',
  '9'.repeat(30),
  '',
  'x',
  '1e3',
  '?',
]
const length = fc.constantFrom(...LENGTHS)
const text = fc.oneof(
  fc.constantFrom(
    '',
    'OK',
    'PONG',
    'message',
    'subscribe',
    'unsubscribe',
    'holdfast',
    '{"joined":true,"node":"n2"}',
    PASSWORD,
  ),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
)
const latin1Bulk = (value: string) => `$${value.length}\r\n${value}\r\n`
const value: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: text.map(latin1Bulk) },
  fc.constantFrom(
    '$-1\r\n',
    '*-1\r\n',
    '_\r\n',
    '#t\r\n',
    '#x\r\n',
    ',1.5\r\n',
    ',nan\r\n',
    '(12345678901234567890\r\n',
    '*0\r\n',
    '%0\r\n',
    '>0\r\n',
  ),
  fc.constantFrom(
    ':1\r\n',
    ':-1\r\n',
    ':\r\n',
    ':99999999999999999999\r\n',
    '+OK\r\n',
    '+PONG\r\n',
    '+\r\n',
    '=7\r\ntxt:abc\r\n',
  ),
  fc.constantFrom(
    '-ERR no\r\n',
    '-NOSCRIPT no\r\n',
    '-READONLY no\r\n',
    '-LOADING no\r\n',
    '-NOAUTH no\r\n',
    '-MOVED 1 127.0.0.1:1\r\n',
    '-\r\n',
    '!5\r\nERR x\r\n',
  ),
  text.map((shown) => `-ERR ${shown.replaceAll(/[\r\n]/g, ' ')}\r\n`),
  text.map((shown) => `-WRONGPASS ${shown.replaceAll(/[\r\n]/g, ' ')}\r\n`),
)
const list = fc
  .tuple(fc.constantFrom('*', '>', '~', '%'), fc.array(value, { maxLength: 5 }))
  .map(([type, items]) => `${type}${type === '%' ? items.length >> 1 : items.length}\r\n${items.join('')}`)
const message = fc
  .tuple(
    fc.constantFrom('>', '*'),
    fc.constantFrom(
      'message',
      'pmessage',
      'smessage',
      'subscribe',
      'ssubscribe',
      'unsubscribe',
      'sunsubscribe',
      'invalidate',
    ),
    fc.array(value, { maxLength: 3 }),
  )
  .map(([type, kind, items]) => `${type}${items.length + 1}\r\n${bulk(kind)}${items.join('')}`)
const wrongLength = fc
  .tuple(fc.constantFrom(...'*$%~>=!:'.split('')), length, text)
  .map(([type, declared, rest]) => `${type}${declared}\r\n${rest}`)
const nested = fc
  .tuple(
    fc.constantFrom('*1\r\n', '%1\r\n', '*2\r\n', '*1000000\r\n', '*30000000\r\n'),
    fc.constantFrom(2, 10, 31, 40, 5000),
  )
  .map(([head, depth]) => head.repeat(depth))
const reply = fc.oneof(
  { weight: 4, arbitrary: value },
  { weight: 2, arbitrary: message },
  list,
  wrongLength,
  nested,
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
)
const part = fc.array(reply, { maxLength: 3 }).map((replies) => replies.join(''))

/** The first byte says how many commands get a correct reply, and whether the connection stays open after the last part. */
const cases = fc
  .tuple(fc.integer({ min: 0, max: 9 }), fc.boolean(), fc.array(part, { maxLength: 4 }))
  .map(([correct, staysOpen, parts]) =>
    Buffer.from(`${String.fromCharCode(correct + (staysOpen ? 16 : 0))}${parts.join(PART_END)}`, 'latin1'),
  )

// oxlint-disable-next-line holdfast/clock -- a real server
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const ignore = () => {}

/** The errors that would end the process, since the last case. */
const fatal: unknown[] = []
const onFatal = (error: unknown) => void fatal.push(error)

/** A connection whose server sends the bytes of a case: each command settles, and the next ones work with a correct server. */
export const target: FuzzTarget = {
  name: 'redis-bytes',
  cases,
  dictionary: [
    PART_END,
    '\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '*0\r\n',
    '>0\r\n',
    '>2\r\n',
    '_\r\n',
    '+OK\r\n',
    bulk('message'),
    bulk('subscribe'),
    PASSWORD,
    ...LENGTHS,
  ],
  concurrency: LANES,
  async open() {
    const servers = await Promise.all(Array.from({ length: LANES }, () => FakeRedis.start()))
    process.on('uncaughtException', onFatal)
    process.on('unhandledRejection', onFatal)
    return {
      async check(bytes, lane) {
        const server = servers[lane] as FakeRedis
        const mode = bytes[0] ?? 0
        server.invalid = {
          correct: mode & 15,
          staysOpen: (mode & 16) !== 0,
          parts: bytes
            .subarray(1)
            .toString('latin1')
            .split(PART_END)
            .map((replies) => Buffer.from(replies, 'latin1')),
        }
        const usedBefore = process.memoryUsage().heapUsed
        const shown: unknown[] = []
        const connection = await RedisConnection.open(server.url, {
          clock: fastClock,
          random: systemRandom,
          driver,
          resolvePath: (path) => path,
          onChanged: (_, reason) => void shown.push(reason),
          onMessage(received) {
            if (typeof received !== 'string') throw new Error('a message that is not a text')
          },
        })
        try {
          // The handshake has ended or failed by then.
          await wait(20)
          const results = await Promise.allSettled([
            connection.send('GET', 'x'),
            connection.run(READ, ['holdfast:{x}'], []),
            connection.check(),
            connection.send('GET', 'y'),
          ])
          for (const result of results) if (result.status === 'rejected') shown.push(String(result.reason))
          shown.push(connection.rejection)
          const growth = process.memoryUsage().heapUsed - usedBefore
          if (growth > MAX_GROWTH_BYTES) throw new Error(`the heap grew by ${growth} bytes`)
          if (shown.some((line) => String(line).includes(PASSWORD)))
            throw new Error('a message shows the password')
          server.invalid = undefined
          server.disconnect()
          // Until the client has noticed the end of its connections, a command can fail or get the rest of the invalid replies.
          while ((await connection.send('GET', 'x').catch(ignore)) !== VALUE) await wait(1)
        } finally {
          connection.close()
          server.disconnect()
        }
        const [error] = fatal.splice(0)
        if (error !== undefined)
          throw new Error(`an error ends the process: ${inspect(error)}`, { cause: error })
      },
      async close() {
        process.off('uncaughtException', onFatal)
        process.off('unhandledRejection', onFatal)
        await Promise.all(servers.map((server) => server.close()))
      },
    }
  },
}
