// The messages and keys of a fleet in Redis.
import { Redis } from 'ioredis'
import { root } from '../packages.mjs'
import { findRedis, RedisServer } from '../servers/redis.mjs'
import { ENVIRONMENT } from './scenario.mjs'

/** @param {Redis} redis @param {string} key */
async function readKey(redis, key) {
  const type = await redis.type(key)
  if (type === 'string') return { type, value: await redis.get(key) }
  if (type === 'hash') return { type, value: await redis.hgetall(key) }
  if (type === 'zset') return { type, value: await redis.zrange(key, '0', '-1', 'WITHSCORES') }
  if (type === 'set') return { type, value: await redis.smembers(key) }
  if (type === 'list') return { type, value: await redis.lrange(key, '0', '-1') }
  if (type === 'stream') return { type, value: await redis.xrange(key, '-', '+') }
  throw new Error(`${key} has the type ${type}`)
}

/**
 * Runs two nodes that share a breaker and a pool, and returns every message and key that they write.
 *
 * @param {{ open(options: object): Promise<any> }} Holdfast
 * @param {string} file the config file
 */
export async function recordFleet(Holdfast, file) {
  const program = await findRedis(root)
  if (typeof program === 'string') throw new Error(program)
  const server = await RedisServer.start(program)
  const url = `redis://127.0.0.1:${server.port}`
  const [redis, subscriber] = [new Redis(url), new Redis(url)]
  /** @type {{ channel: string, message: string }[]} */
  const messages = []
  try {
    await subscriber.psubscribe('*')
    subscriber.on('pmessage', (_, channel, message) => messages.push({ channel, message }))
    const open = (/** @type {string} */ node) =>
      Holdfast.open({
        config: file,
        store: 'memory',
        env: { ...ENVIRONMENT, HOLDFAST_SHARED: url, HOLDFAST_NODE_ID: node },
        watch: false,
      })
    const nodes = [await open('node-1'), await open('node-2')]
    const [first] = nodes
    const limited = Object.assign(new Error('429 Too Many Requests'), { status: 429, retryAfter: 60_000 })
    await first
      .run(
        'fetch',
        async () => {
          throw limited
        },
        { pool: 'proxies', policy: 'quick', retry: false },
      )
      .catch(() => {})
    await first.breakers.trip('service:archive', { by: 'ann', reason: 'maintenance' })
    // The messages of both nodes have arrived when the second one has applied the state.
    for (let tries = 0; tries < 200; tries++) {
      const states = await nodes[1].breakers.list()
      if (states.some((/** @type {any} */ one) => one.id === 'service:archive' && one.state === 'open')) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    const keys = Object.fromEntries(
      await Promise.all(
        (await redis.keys('*')).toSorted().map(async (key) => [key, await readKey(redis, key)]),
      ),
    )
    for (const node of nodes) await node.close()
    await new Promise((resolve) => setTimeout(resolve, 100))
    return { messages, keys }
  } finally {
    redis.disconnect()
    subscriber.disconnect()
    await server.kill()
  }
}
