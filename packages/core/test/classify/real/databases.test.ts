import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from '../../../src/classify/index.js'
import { isTransientSqlError } from '../../../src/sql/index.js'
import { closedPort, failure, tcpServer } from './servers.js'

const NETWORK = { category: 'transient', kind: 'network_error' }

describe('pg', () => {
  const connect = (port: number, connectionTimeoutMillis = 0) =>
    new pg.Client({ host: '127.0.0.1', port, user: 'u', database: 'd', connectionTimeoutMillis }).connect()

  /** The message of a server that rejects a client. */
  function rejectionMessage(sqlState: string): Buffer {
    const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0Mno\0\0`)
    const head = Buffer.from('E\0\0\0\0')
    head.writeInt32BE(fields.length + 4, 1)
    return Buffer.concat([head, fields])
  }

  it.each([
    ['57P03', 'transient', 'server_error'],
    ['53300', 'transient', 'server_error'],
    ['28P01', 'critical', 'auth'],
    ['3D000', 'permanent', 'unknown'],
  ])('with %s: %s %s', async (sqlState, category, kind) => {
    const port = await tcpServer(rejectionMessage(sqlState), 'data', true)
    const error = await failure(() => connect(port))
    expect(classify(error)).toEqual({ category, kind, sqlState })
    expect(isTransientSqlError(error)).toBe(category === 'transient')
  })

  it('with a refused connection: network_error', async () => {
    const port = await closedPort()
    const error = await failure(() => connect(port))
    expect(classify(error)).toEqual(NETWORK)
    expect(isTransientSqlError(error)).toBe(true)
  })

  it('with a closed connection: network_error', async () => {
    const port = await tcpServer(undefined, 'data', true)
    const error = await failure(() => connect(port))
    expect(classify(error)).toEqual(NETWORK)
    expect(isTransientSqlError(error)).toBe(true)
  })

  it('without a response: timeout', async () => {
    const port = await tcpServer(undefined, 'data', false)
    const error = await failure(() => connect(port, 1))
    expect(classify(error)).toEqual({ category: 'transient', kind: 'timeout' })
    expect(isTransientSqlError(error)).toBe(true)
  })
})

describe('mysql2', () => {
  const connect = (port: number, connectTimeout = 60_000) =>
    createConnection({ host: '127.0.0.1', port, connectTimeout })

  /** The message of a server in place of its greeting. */
  function rejectionMessage(errno: number, message: string): Buffer {
    const body = Buffer.concat([Buffer.from([0xff, errno & 255, errno >> 8]), Buffer.from(message)])
    return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body])
  }

  it('with too many connections: transient', async () => {
    const port = await tcpServer(rejectionMessage(1040, '#08004Too many connections'), 'connect', true)
    const error = await failure(() => connect(port))
    expect(classify(error)).toMatchObject({ category: 'transient', kind: 'server_error' })
    expect(isTransientSqlError(error)).toBe(true)
  })

  it('with a host that is not allowed: permanent', async () => {
    const port = await tcpServer(
      rejectionMessage(1130, '#HY000Host is not allowed to connect'),
      'connect',
      true,
    )
    const error = await failure(() => connect(port))
    expect(classify(error)).toMatchObject({ category: 'permanent', kind: 'unknown' })
    expect(isTransientSqlError(error)).toBe(false)
  })

  it('with a refused or closed connection: network_error', async () => {
    const closed = await closedPort()
    expect(classify(await failure(() => connect(closed)))).toEqual(NETWORK)
    const rude = await tcpServer(undefined, 'connect', true)
    expect(classify(await failure(() => connect(rude)))).toEqual(NETWORK)
  })

  it('without a response: timeout', async () => {
    const port = await tcpServer(undefined, 'data', false)
    expect(classify(await failure(() => connect(port, 1)))).toEqual({
      category: 'transient',
      kind: 'timeout',
    })
  })
})

describe('libsql', () => {
  function twoConnections() {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    const open = () => new Database(join(folder, 'test.db'), { timeout: 0 })
    const [one, other] = [open(), open()]
    onTestFinished(() => {
      one.close()
      other.close()
      rmSync(folder, { recursive: true })
    })
    one.exec('create table things (id integer primary key, name text not null)')
    return { one, other }
  }

  it('locked by another connection: transient', async () => {
    const { one, other } = twoConnections()
    one.exec('begin immediate')
    const error = await failure(() => other.exec('begin immediate'))
    expect(classify(error)).toEqual({ category: 'transient', kind: 'conflict' })
    expect(isTransientSqlError(error)).toBe(true)
  })

  it.each([
    ['insert into things values (1, null)', 'conflict'],
    ['insert into things values (1, 1), (1, 2)', 'conflict'],
    ['nonsense', 'unknown'],
  ])('running %s: permanent', async (sql, kind) => {
    const { one } = twoConnections()
    const error = await failure(() => one.exec(sql))
    expect(classify(error)).toEqual({ category: 'permanent', kind })
    expect(isTransientSqlError(error)).toBe(false)
  })
})
