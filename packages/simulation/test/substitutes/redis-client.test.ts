import { seededRandom } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { HEARTBEAT, READ } from '../../../fleet/src/lua/scripts.js'
import { RedisConnection } from '../../../fleet/src/redis-connection.js'
import { createRedisHost, createSimulatedRedisDriver } from '../../src/substitutes/redis/client.js'
import { createSimulatedRedis } from '../../src/substitutes/redis/server.js'
import { TestNetwork } from './links.js'

const BEAT = [
  ['live', 'records'],
  ['n1', '{}', 5000],
] as const

/** The connection of the fleet to a simulated Redis. */
async function openConnection() {
  const network = new TestNetwork()
  const redis = createSimulatedRedis()
  const host = createRedisHost(redis, () => network.clock.wall())
  const changes: (string | true)[] = []
  const messages: string[] = []
  const connection = await RedisConnection.open('redis://simulated', {
    driver: createSimulatedRedisDriver({ host, clock: network.clock, connect: network.connect }),
    clock: network.clock,
    random: seededRandom(1),
    resolvePath: (path) => path,
    onChanged: (isUp, reason) => changes.push(isUp || (reason ?? '')),
    onMessage: (text) => messages.push(text),
  })
  await network.clock.advance(1000)
  return { network, redis, connection, changes, messages }
}

describe('the connection of a fleet to the simulated Redis', () => {
  it('runs scripts and receives messages', async () => {
    const { network, connection, changes, messages } = await openConnection()
    expect(changes).toEqual([true])
    expect(await connection.run(HEARTBEAT, ...BEAT)).toEqual([0, 1, network.clock.wall()])
    await network.clock.advance(0)
    expect(messages).toEqual(['{"joined":true,"node":"n1"}'])
    connection.close()
  })

  it('sends the text of a script after the server was restarted', async () => {
    const { network, redis, connection } = await openConnection()
    await connection.run(HEARTBEAT, ...BEAT)
    redis.restart('nothing')
    expect(await connection.run(HEARTBEAT, ...BEAT)).toEqual([1, 1, network.clock.wall()])
    connection.close()
  })

  it('is down after its connections were reset, and up again after it has connected', async () => {
    const { network, connection, changes, messages } = await openConnection()
    network.reset()
    expect(changes).toEqual([true, 'the connection ended'])
    await expect(connection.run(HEARTBEAT, ...BEAT)).rejects.toThrow('Redis is not available')
    await network.clock.advance(5000)
    expect(changes).toEqual([true, 'the connection ended', true])
    await connection.run(HEARTBEAT, ...BEAT)
    await network.clock.advance(0)
    expect(messages).toHaveLength(1)
    connection.close()
  })

  it('is down after the timeout of a command when nothing arrives', async () => {
    const { network, connection, changes } = await openConnection()
    network.isStopped = true
    const reply = expect(connection.send('HGETALL', 'x')).rejects.toThrow('no reply within 500 ms')
    await network.clock.advance(600)
    await reply
    expect(changes).toEqual([true, 'no reply within 500 ms'])
    network.isStopped = false
    await network.clock.advance(30_000)
    expect(connection.isUp).toBe(true)
    connection.close()
  })

  it('connects when a server that refused connections accepts them', async () => {
    const { network, connection } = await openConnection()
    network.isRefusing = true
    network.reset()
    await network.clock.advance(60_000)
    expect(connection.isUp).toBe(false)
    network.isRefusing = false
    await network.clock.advance(5000)
    expect(connection.isUp).toBe(true)
    connection.close()
  })

  it.each(['oom', 'readonly', 'loading'] as const)(
    'is down while the server is in the state %s',
    async (fault) => {
      const { network, redis, connection } = await openConnection()
      redis.setFault(fault, true)
      await expect(connection.run(HEARTBEAT, ...BEAT)).rejects.toThrow(/^(OOM|READONLY|LOADING) /)
      expect(connection.isUp).toBe(false)
      await network.clock.advance(60_000)
      expect(connection.isUp).toBe(false)
      redis.setFault(fault, false)
      await network.clock.advance(10_000)
      expect(connection.isUp).toBe(true)
      connection.close()
    },
  )

  it('stays up when a key has another type', async () => {
    const { redis, network, connection } = await openConnection()
    redis.execute(['SET', 's', 'x'], network.clock.wall())
    await expect(connection.run(READ, ['s', 'r', 'c'], ['n1', 'id', 0])).rejects.toThrow(/^WRONGTYPE /)
    expect(connection.isUp).toBe(true)
    connection.close()
  })
})
