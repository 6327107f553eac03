import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../src/postgres/address.js'
import { PostgresDatabase } from '../../src/postgres/database.js'
import { loadPostgresDriver } from '../../src/postgres/driver.js'
import { ReplyChecker } from '../../src/postgres/replies.js'
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

// The clients of `pg` read replies in an event handler of the socket: a reply that is not valid ended the process, or made it read
// without an end.

const server = await FakePostgres.start()
afterAll(() => server.close())

const STARTED = Buffer.concat([AUTHENTICATED, READY])
const QUERY = 'SELECT $1 AS n'

const INVALID: [string, Buffer][] = [
  ['a row that is cut off', message('D', Buffer.from([0, 9]))],
  ['a row without columns before it', row('1')],
  ['a row with a negative number of values', message('D', Buffer.from([0xff, 0xff]))],
  ['a description that is cut off', message('T', Buffer.from([0x7f, 0xff]))],
  ['an unexpected request for data', message('G', Buffer.from([0, 0, 0]))],
  ['a request for data that is cut off', message('G')],
  ['an unknown kind of authentication', message('R', Buffer.from([0, 0, 0, 99]))],
  ['an error without an end', message('E')],
  ['an error whose last field has no end', message('E', 'SERROR\0Mx')],
  ['a notice without an end', message('N', 'SNOTICE\0')],
  ['a message of an unknown type', message('\0')],
  ['a length of 0', Buffer.from([0x44, 0, 0, 0, 0])],
  ['a length of 4 GB', Buffer.from([0x44, 0xff, 0xff, 0xff, 0xff])],
  ['text of another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
]

async function open(): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(parseAddress(server.url), {
    connections: 1,
    statementTimeout: 30_000,
    connectTimeout: 30_000,
  })
  await database.open()
  onTestFinished(() => {
    server.replies = undefined
    return database.close()
  })
  return database
}

const readOne = (database: PostgresDatabase) => database.read((sql) => sql.all(QUERY, 1), { attempts: 1 })

describe('a PostgreSQL server that sends an invalid reply', () => {
  it.each(INVALID)('fails the statement and gets a new connection: %s', async (_, reply) => {
    const database = await open()
    server.replies = [STARTED, Buffer.concat([COMPLETED, reply])]
    await expect(readOne(database)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    server.replies = undefined
    expect(await readOne(database)).toEqual([{ n: '1' }])
  })

  it.each(INVALID)('rejects the connect, before and after the authentication: %s', async (_, reply) => {
    const database = await open()
    for (const replies of [[reply], [Buffer.concat([AUTHENTICATED, reply, READY])]]) {
      server.replies = replies
      await expect(readOne(database)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    server.replies = undefined
    expect(await readOne(database)).toEqual([{ n: '1' }])
  })

  it.each(INVALID)('ends an idle connection outside of the pool: %s', async (_, reply) => {
    const database = await open()
    server.replies = [STARTED, Buffer.concat([COMPLETED, reply])]
    const client = await database.createClient()
    const ended = new Promise<void>((resolve) => client.on('end', resolve))
    await client.connect()
    // The reply to LISTEN is complete, but it arrives together with the invalid one.
    await client.query('LISTEN x').catch(() => {})
    await ended
  })

  it('destroys a connection on which the connect failed, although the server keeps it open', async () => {
    const { Client } = await loadPostgresDriver()
    server.replies = [Buffer.concat([message('E', 'SFATAL\0C28000\0Mno\0\0'), READY])]
    const client = new Client({
      connectionString: server.url,
      application_name: 'test',
      connectionTimeoutMillis: 30_000,
      query_timeout: 30_000,
      keepAlive: true,
      pipeline: true,
    })
    const ended = new Promise<void>((resolve) => client.on('end', resolve))
    await expect(client.connect()).rejects.toMatchObject({ code: '28000' })
    await ended
    server.replies = undefined
  })
})

describe('checking replies', () => {
  it('passes valid messages on unchanged, in pieces of any size', () => {
    const sent = Buffer.concat([
      STARTED,
      message('N', 'SNOTICE\0Mhello\0\0'),
      ONE_ROW,
      columns('a', 'b'),
      row('', null),
      row('x'.repeat(5000), 'ä'),
      message('E', 'SERROR\0C42601\0\0'),
      READY,
    ])
    for (const size of [1, 2, 7, 64, 4096, sent.length]) {
      const passed: Buffer[] = []
      const checker = new ReplyChecker((messages) => passed.push(Buffer.from(messages)))
      for (let offset = 0; offset < sent.length; offset += size)
        checker.read(sent.subarray(offset, offset + size))
      expect(Buffer.concat(passed)).toEqual(sent)
    }
  })

  it('rejects values that overlap, without reading them', () => {
    const checker = new ReplyChecker(() => {})
    checker.read(columns('a', 'b'))
    const overlapping = message('D', Buffer.from([0, 2, 0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 0]))
    expect(() => checker.read(overlapping)).toThrow('a row does not have the described columns')
  })

  it('limits a reply by its sum, without notifications', () => {
    const checker = new ReplyChecker(() => {})
    const megabyte = Buffer.alloc(2 ** 20)
    const repeat = (type: string) => {
      const part = message(type, megabyte)
      for (let sent = 0; sent < 600; sent++) checker.read(part)
    }
    repeat('A')
    expect(() => repeat('d')).toThrow('a reply has more than 536870912 bytes')
  })
})
