import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { isServerRejection, writeProbeKey } from '../src/redis-errors.js'
import { missing, QUIET, RealRedis, until } from './redis.js'
import { afterwards, countEvents, DRIVER_WITH_TIMEOUTS, node, type TestNode } from './setup.js'

const start = async (...more: string[]) => {
  const server = await RealRedis.start((port) => ['--port', String(port), ...QUIET, ...more])
  afterwards(() => server.kill())
  return server
}

async function admin(url: string): Promise<(line: string) => Promise<unknown>> {
  const client = new Redis(url)
  afterwards(async () => client.disconnect())
  await client.ping()
  return (line) => {
    const [command = '', ...args] = line.split(' ')
    return client.call(command, ...args)
  }
}

const reasonOf = ({ events }: TestNode) =>
  events.find(({ eventType }) => eventType === 'shared_state_lost')?.context?.['reason']

/** The expected error, the command after which Redis rejects writes, and the command that ends this. */
const REJECTIONS: readonly [error: RegExp, start: string, end: string][] = [
  // oxlint-disable-next-line holdfast/wording -- a command of Redis
  [/^READONLY /, 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  [/^OOM /, 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
  [/^NOREPLICAS /, 'CONFIG SET min-replicas-to-write 1', 'CONFIG SET min-replicas-to-write 0'],
  [/^NOPERM /, 'ACL SETUSER default -eval -evalsha', 'ACL SETUSER default +@all'],
  [/can't run this command/, 'ACL SETUSER default -@write', 'ACL SETUSER default +@all'],
  [/^NOPERM |can't access/, 'ACL SETUSER default resetkeys ~holdfast:{nodes}:*', 'ACL SETUSER default ~*'],
]

describe.skipIf(missing !== undefined)('a Redis that rejects commands', () => {
  it.each(REJECTIONS)(
    'with %s counts as lost, is reported once, and is restored when it accepts writes',
    async (error, startCommand, endCommand) => {
      const server = await start()
      const send = await admin(server.url)
      const [a, b] = [await node(server.url, 'a'), await node(server.url, 'b')]
      const [mine, other] = [await a.add('service:api'), await b.add('service:api')]
      await send(startCommand)
      mine.trip()
      await until(() => countEvents(a, 'shared_state_lost') > 0)
      expect(reasonOf(a)).toMatch(error)
      expect(reasonOf(a)).not.toMatch(/script:/)
      // Every reconnect is rejected.
      await until(() => a.state['redis']['attempts'] > 3 || countEvents(a, 'shared_state_lost') > 2)
      expect([countEvents(a, 'shared_state_lost'), countEvents(a, 'shared_state_restored')]).toEqual([1, 0])
      expect(a.state.status()).toMatchObject({ up: false, losses: 1 })
      await send(endCommand)
      await until(() => a.state.status().up)
      await until(() => other.state === 'open')
      expect([countEvents(a, 'shared_state_lost'), countEvents(a, 'shared_state_restored')]).toEqual([1, 1])
    },
  )

  it('for a wrong or missing password is reported with the error of Redis and without the password', async () => {
    const server = await start('--requirepass', 'swordfish')
    const as = (credentials: string) => server.url.replace('//', `//${credentials}@`)
    const options = { driver: DRIVER_WITH_TIMEOUTS }
    const [wrong, none] = await Promise.all([
      node(as(':hunter2'), 'a', options),
      node(server.url, 'b', options),
    ])
    expect(reasonOf(wrong as TestNode)).toMatch(/^WRONGPASS /)
    expect(reasonOf(none as TestNode)).toMatch(/^NOAUTH /)
    expect(JSON.stringify([wrong?.events, none?.events])).not.toMatch(/hunter2|swordfish/)
    const right = await node(as(':swordfish'), 'c')
    expect(right.state.status().up).toBe(true)
  })
})

describe('an error reply of Redis', () => {
  it.each([
    [
      'EVALSHA',
      "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
      true,
    ],
    ['EVALSHA', 'NOAUTH Authentication required.', true],
    ['HGETALL', 'LOADING Redis is loading the dataset in memory', true],
    ['EVALSHA', 'MOVED 866 127.0.0.1:7001', true],
    [
      'EVALSHA',
      'ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not',
      true,
    ],
    [
      'EVALSHA',
      'ERR Error running script (call to f_1): @user_script:1: -WRONGTYPE Operation against',
      false,
    ],
    ['EVALSHA', 'NOPERM this user has no permissions', true],
    ['XRANGE', 'NOPERM this user has no permissions', false],
    ['EVALSHA', 'NOSCRIPT No matching script.', false],
    ['EVALSHA', 'WRONGTYPE Operation against a key holding the wrong kind of value', false],
    ['EVALSHA', 'ERR value is not an integer or out of range', false],
  ])('to %s is a rejection of the node or of one key: %s', (command, message, isRejection) => {
    expect(isServerRejection(command, message)).toBe(isRejection)
  })

  it('is followed by write probes with the hash tag of the rejected key, on a key of their own', () => {
    expect(writeProbeKey('holdfast:{pool:p:m}:state')).toBe('holdfast:{pool:p:m}:trial')
    expect(writeProbeKey('holdfast:events')).toBe('holdfast:events:trial')
  })
})
