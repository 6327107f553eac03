import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HEARTBEAT, READ, START_COOLDOWN, WRITE_PROBE } from '../../../fleet/src/lua/scripts.js'
import { missing, QUIET, RealRedis } from '../../../fleet/test/redis.js'
import { createSimulatedRedis, type SimulatedRedis } from '../../src/substitutes/redis/server.js'
import { comparable, comparableError, TimedRedis } from './real-redis.js'
import { Comparison, toOutcome } from './redis-comparison.js'
import { history } from './redis-histories.js'
import type { Command } from './redis-steps.js'

const START = 1_790_000_000_000.25

const scriptCall = (text: string, keys: Command, args: Command): Command => [
  'EVAL',
  text,
  keys.length,
  ...keys,
  ...args,
]
const readBreaker = scriptCall(READ.text, ['s', 'r', 'c'], ['n1', 'id', 0])
const probeWrite = scriptCall(WRITE_PROBE.text, ['probe'], [])
const beat = scriptCall(HEARTBEAT.text, ['live', 'records'], ['n1', '{}', 5000])
const cooldown = scriptCall(START_COOLDOWN.text, ['cooldowns'], ['n1', 'pool', 'm1', 5000])

const debugArguments = (port: number) => ['--port', String(port), ...QUIET, '--enable-debug-command', 'yes']
const errorText = (error: Error): string => comparableError(error.message)

describe.skipIf(missing !== undefined)('the simulated Redis, compared with a real one', () => {
  let server: Awaited<ReturnType<typeof RealRedis.start>>
  let real: TimedRedis
  beforeAll(async () => {
    server = await RealRedis.start(debugArguments)
    real = await TimedRedis.connect(server.port)
  })
  afterAll(async () => {
    real?.close()
    await server?.kill()
  })
  beforeEach(async () => {
    await real.client.flushall()
    await real.client.script('FLUSH')
    await real.flushMessages()
    real.messages.length = 0
  })

  it('replies, stores and publishes the same in generated histories of the scripts', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        await real.client.flushall()
        await real.client.script('FLUSH')
        real.messages.length = 0
        await new Comparison(real).run(steps)
      }),
      {
        numRuns: Number(process.env['HISTORIES'] ?? 200),
        seed: Number(process.env['SEED'] ?? 22),
        endOnFailure: true,
      },
    )
  })

  it('rejects an operation on a key of another type', async () => {
    const both = new Comparison(real)
    await both.step(['SET', 's', 'x'])
    const { error } = await both.step(readBreaker)
    expect(error).toMatch(/^WRONGTYPE /)
    await both.step(['HGETALL', 's'])
    await both.step(['XRANGE', 's', '-', '+'])
  })

  it('does not know a script by its hash before it was sent, and after a restart', async () => {
    const call = [READ.sha, 3, 's', 'r', 'c', 'n1', 'id', 0] as const
    const both = new Comparison(real)
    expect(await both.step(['EVALSHA', ...call])).toEqual({ error: 'NOSCRIPT' })
    both.simulated.execute(readBreaker, both.now)
    expect(both.simulated.execute(['EVALSHA', ...call], both.now).error).toBeUndefined()
    both.simulated.restart('nothing')
    expect(both.simulated.execute(['EVALSHA', ...call], both.now).error).toMatch(/^NOSCRIPT /)
  })

  it('returns pages of a stream and shortens it', async () => {
    const both = new Comparison(real)
    for (let i = 0; i < 250; i++) {
      const id = await real.client.call('XADD', 'real', 'MAXLEN', '~', '100', '*', 'n', String(i))
      expect(id).toMatch(/^\d+-\d+$/)
      both.now += i % 3
      both.simulated.execute(['XADD', 'real', 'MAXLEN', '~', 100, '*', 'n', i], both.now)
    }
    const pages = async (read: (command: Command) => Promise<unknown>) => {
      const seen: string[] = []
      for (let after: string | undefined; ; ) {
        const page = (await read([
          'XRANGE',
          'real',
          after === undefined ? '-' : `(${after}`,
          '+',
          'COUNT',
          40,
        ])) as [string, string[]][]
        if (page.length === 0) return seen
        seen.push(...page.map(([, [, n = '']]) => n))
        after = page.at(-1)?.[0]
      }
    }
    const simulated = await pages(async (command) => both.simulated.execute(command, both.now).reply)
    const actual = await pages(([name, ...args]) => real.client.call(String(name), ...args))
    expect(simulated).toEqual(actual)
    expect(simulated.at(-1)).toBe('249')
  })

  it('rejects scripts that need memory when it is full, and no others', async () => {
    const both = new Comparison(real)
    await both.step(['ZADD', 'cooldowns', both.now - 1, 'm2'])
    await real.client.config('SET', 'maxmemory', '1')
    both.simulated.setFault('oom', true)
    try {
      for (const command of [probeWrite, beat, cooldown, readBreaker, ['DEL', 'x']])
        await both.step(command, false)
      expect((await both.step(probeWrite, false)).error).toMatch(/^OOM /)
      const { error = '' } = both.simulated.execute(['HSET', 'h', 'a', 1], both.now)
      await expect(real.client.hset('h', 'a', 1)).rejects.toThrow(error)
    } finally {
      await real.client.config('SET', 'maxmemory', '0')
    }
  })

  it('rejects writes as a replica', async () => {
    const both = new Comparison(real)
    await both.step(['HSET', 's', 'state', 'open'])
    const before = [probeWrite, beat, cooldown, readBreaker, ['DEL', 'x'], ['HGETALL', 's']]
    await real.client.replicaof('127.0.0.1', 1)
    both.simulated.setFault('readonly', true)
    const errors: (string | undefined)[] = []
    try {
      for (const [name = '', ...args] of before) {
        const actual = await real.client
          .call(String(name), ...args)
          .then((reply) => ({ reply: comparable(reply) }))
          .catch((error: Error) => ({ error: comparableError(error.message) }))
        const simulated = toOutcome(both.simulated.execute([name, ...args], both.now))
        expect('error' in simulated ? simulated : 'reply').toEqual('error' in actual ? actual : 'reply')
        errors.push(simulated.error?.split(' ')[0])
      }
    } finally {
      await real.client.replicaof('NO', 'ONE')
    }
    expect(errors).toEqual(['READONLY', 'READONLY', 'READONLY', undefined, 'READONLY', undefined])
  })

  it('rejects everything except subscriptions while it loads its data', async () => {
    const commands: Command[] = [['PING'], readBreaker, ['HGETALL', 's'], ['SUBSCRIBE', 'c']]
    const loading = await RealRedis.start(debugArguments)
    const [client, other] = [0, 1].map(() => new Redis(loading.port, '127.0.0.1', { retryStrategy: null }))
    const outcomes: (string | undefined)[] = []
    try {
      await other?.ping()
      await client?.mset(
        Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key${i}`, 'x'.repeat(100)])),
      )
      // 40 seconds, unless the server is killed.
      await client?.config('SET', 'key-load-delay', '20000')
      await client?.config('SET', 'loading-process-events-interval-bytes', '1024')
      client?.call('DEBUG', 'RELOAD').catch(() => {})
      await expect.poll(() => other?.ping().catch((error: Error) => error.message)).toMatch(/^LOADING/)
      for (const [name = '', ...args] of commands)
        outcomes.push(await other?.call(String(name), ...args).then(() => undefined, errorText))
    } finally {
      for (const each of [client, other]) each?.disconnect()
      await loading.kill()
    }
    const simulated = createSimulatedRedis()
    simulated.setFault('loading', true)
    expect(commands.map((command) => simulated.execute(command, START).error)).toEqual(outcomes)
    expect(outcomes[0]).toMatch(/^LOADING /)
  })
})

describe('the simulated Redis after a crash', () => {
  const write = (redis: SimulatedRedis, field: string, now: number) =>
    redis.execute(['HSET', 'h', field, '1'], now)
  const fields = (redis: SimulatedRedis, now: number) => redis.execute(['HGETALL', 'h'], now).reply

  it.each([
    ['nothing', ['a', '1', 'b', '1']],
    ['last-second', ['a', '1']],
    ['everything', []],
  ] as const)('has lost %s', (loss, left) => {
    const redis = createSimulatedRedis()
    write(redis, 'a', 10_500)
    write(redis, 'b', 11_200)
    redis.restart(loss)
    expect(fields(redis, 11_300)).toEqual(left)
  })

  it('restores the expiry and the deleted keys of the last second', () => {
    const redis = createSimulatedRedis()
    write(redis, 'a', 10_500)
    redis.execute(['PEXPIRE', 'h', 5000], 10_500)
    redis.execute(['DEL', 'h'], 11_100)
    redis.execute(['SET', 'h', 'x'], 11_200)
    redis.restart('last-second')
    expect(fields(redis, 11_300)).toEqual(['a', '1'])
    expect(redis.execute(['PTTL', 'h'], 11_500).reply).toBe(4000)
  })

  it('has no subscriptions', () => {
    const redis = createSimulatedRedis()
    redis.execute(['SUBSCRIBE', 'c'], 0, 'reader')
    expect(redis.execute(['PUBLISH', 'c', 'x'], 0).reply).toBe(1)
    redis.restart('nothing')
    expect(redis.execute(['PUBLISH', 'c', 'x'], 0).reply).toBe(0)
  })
})
