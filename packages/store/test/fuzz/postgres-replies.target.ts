import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { parseAddress } from '../../src/postgres/address.js'
import { PostgresDatabase } from '../../src/postgres/database.js'
import {
  AUTHENTICATED,
  COMPLETED,
  columns,
  FakePostgres,
  message,
  ONE_ROW,
  READY,
  row,
} from '../fake-postgres.js'

const LANES = 4

/** Long enough for a busy machine. The server ends each conversation much earlier. */
const TIMEOUT_MS = 30_000

const IDLE_TIMEOUT_MS = 10

/** Ends a part of the replies. The server sends the next part when it has received something. */
const PART_END = '\xf0--\xf0'

const body = fc.oneof(
  fc.constantFrom('', '\0', '\0\0', '\0\0\0', '\0\0\0\x03', '\0\0\0\x05salt', '\0\0\0\x0aSCRAM-SHA-256\0\0'),
  fc.constantFrom(
    '\0\0\0\x0br=x,s=eA==,i=4096',
    '\0\0\0\x0cv=x',
    'SFATAL\0C57P01\0Mstop\0\0',
    'C40001\0M\0\0',
  ),
  fc.constantFrom('\0\x01\0\0\0\x01x', '\0\x01\xff\xff\xff\xff', '\xff\xff', '\0\0\0\x01x\0y\0'),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
)
const anyMessage = fc
  .tuple(fc.constantFrom(...'RZTDC12nAENGHWdcSKtIs3v\0'.split('')), body)
  .map(([type, text]) => message(type, text))
const wrongLength = fc
  .tuple(anyMessage, fc.constantFrom(0, 3, 4, 5, 100, 70_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1))
  .map(([bytes, length]) => {
    const changed = Buffer.from(bytes)
    changed.writeUInt32BE(length, 1)
    return changed
  })
const STARTED = Buffer.concat([AUTHENTICATED, READY])
const valid = fc.constantFrom(
  READY,
  COMPLETED,
  ONE_ROW,
  columns('n'),
  columns('__proto__', 'n'),
  row('1'),
  row('1', null),
  message('A', '\0\0\0\x01x\0y\0'),
  message('E', 'SERROR\0C42601\0Mno\0\0'),
)
const part = fc
  .array(fc.oneof({ weight: 3, arbitrary: valid }, anyMessage, wrongLength), { maxLength: 5 })
  .map((messages) => Buffer.concat(messages))
const start = fc.oneof({ weight: 3, arbitrary: fc.constant(STARTED) }, part)
const cases = fc
  .tuple(start, fc.array(part, { maxLength: 4 }))
  .map(([first, rest]) =>
    Buffer.from([first, ...rest].map((bytes) => bytes.toString('latin1')).join(PART_END), 'latin1'),
  )

const ignore = () => {}

/** Statements over connections whose server sends the bytes of a case: they settle, and the next ones work with a correct server. */
export const target: FuzzTarget = {
  name: 'postgres-replies',
  cases,
  dictionary: [
    PART_END,
    ...[STARTED, ONE_ROW, COMPLETED, message('G', '\0\0\0'), message('E'), columns('a', 'b')].map((bytes) =>
      bytes.toString('latin1'),
    ),
    'D\xff\xff\xff\xff',
    'D\0\0\0\x06\0\x09',
    '\xff\xff\xff\xfc',
  ],
  concurrency: LANES,
  async open() {
    const servers = await Promise.all(Array.from({ length: LANES }, () => FakePostgres.start()))
    for (const server of servers) server.idleTimeoutMs = IDLE_TIMEOUT_MS
    return {
      async check(bytes, lane) {
        const server = servers[lane] as FakePostgres
        server.replies = bytes
          .toString('latin1')
          .split(PART_END)
          .map((text) => Buffer.from(text, 'latin1'))
        const database = new PostgresDatabase(parseAddress(server.url), {
          connections: 1,
          statementTimeout: TIMEOUT_MS,
          connectTimeout: TIMEOUT_MS,
        })
        await database.open()
        try {
          const listener = await database.createClient()
          const ended = new Promise<void>((resolve) => listener.on('end', resolve))
          const listening = listener.connect().then(() => listener.query('LISTEN x'))
          const read = database.read((sql) => sql.all('SELECT $1 AS n', 1), { attempts: 1 })
          const results = await Promise.allSettled([
            read,
            database.write((sql) => sql.finish(1, 'SELECT $1 AS n', 1), { attempts: 1 }),
            listening,
          ])
          for (const result of results.slice(0, 2))
            if (result.status === 'rejected' && result.reason.code !== 'STORE_UNAVAILABLE')
              throw new Error(`a statement failed with ${result.reason}`)
          server.disconnect()
          await ended
          await listener.end().catch(ignore)
          server.replies = undefined
          // The pool can still hold a connection that the server has just ended, so that the first statement may fail.
          const next = () => database.read((sql) => sql.all('SELECT $1 AS n', 1))
          const [found] = await next()
          if (found?.n !== '1') throw new Error(`the next statement got ${JSON.stringify(found)}`)
        } finally {
          await database.close()
        }
      },
      close: async () => {
        await Promise.all(servers.map((server) => server.close()))
      },
    }
  },
}
