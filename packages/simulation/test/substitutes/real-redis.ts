import { Redis } from 'ioredis'
import { CHANNEL } from '../../../fleet/src/lua/scripts.js'
import { formatRedisError } from '../../../fleet/src/redis-errors.js'
import type { RedisKeyDump } from '../../src/substitutes/redis/server.js'

/** All keys with type, content and the milliseconds until they expire. */
const DUMP = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local type = redis.call('TYPE', key).ok
  local content
  if type == 'hash' then content = redis.call('HGETALL', key)
  elseif type == 'zset' then content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif type == 'stream' then content = redis.call('XRANGE', key, '-', '+')
  else content = redis.call('GET', key) end
  found[#found + 1] = { key, type, redis.call('PTTL', key), content }
end
return found`

/** Sets the expiry of keys: ARGV has the milliseconds of each key, and a negative number for one that has expired. */
const SET_EXPIRY = `
for i, key in ipairs(KEYS) do
  local ms = tonumber(ARGV[i])
  if ms < 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, math.max(1, ms)) end
end
return 1`

type Command = (string | number)[]
type CommandResult = [Error | null, unknown]

/** A reply or the text of an error, in a form that can be compared. */
export interface Outcome {
  readonly reply?: unknown
  readonly error?: string
}

/** Parses JSON, whose fields have no order. */
export const comparable = (reply: unknown): unknown =>
  typeof reply === 'string' && reply.startsWith('{') ? (JSON.parse(reply) as unknown) : reply

export const comparableError = (message: string): string =>
  formatRedisError(message.replace('NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT'))

const pairs = (flat: readonly string[]): [string, string][] =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? ''])

function toDump([key, type, ttl, content]: [string, string, number, unknown]): RedisKeyDump {
  if (type === 'hash') return { key, type, ttl, content: Object.fromEntries(pairs(content as string[])) }
  if (type === 'zset') {
    const scores = pairs(content as string[]).map(([member, score]) => [member, Number(score)] as const)
    return { key, type, ttl, content: Object.fromEntries(scores) }
  }
  if (type === 'stream')
    return { key, type, ttl, content: (content as [string, string[]][]).map(([, fields]) => fields) }
  return { key, type, ttl, content }
}

/**
 * A real Redis under the time of a test. Scripts get the time in two additional keys, and the expiry of keys is set before each
 * command to what is left of it at that time.
 */
export class TimedRedis {
  readonly client: Redis
  readonly messages: unknown[] = []
  private readonly subscriber: Redis

  private constructor(client: Redis, subscriber: Redis) {
    this.client = client
    this.subscriber = subscriber
  }

  static async connect(port: number): Promise<TimedRedis> {
    const redis = new TimedRedis(new Redis(port, '127.0.0.1'), new Redis(port, '127.0.0.1'))
    await redis.subscriber.subscribe(CHANNEL)
    redis.subscriber.on('message', (_, text) => redis.messages.push(JSON.parse(text)))
    return redis
  }

  /**
   * Runs a command, or a script under a given time, and returns its outcome with all data afterwards. A server whose memory is full
   * accepts no transactions, so `isAtomic` is false then.
   */
  async step(
    command: readonly (string | number)[],
    now: number,
    remaining: ReadonlyMap<string, number>,
    isAtomic = true,
  ): Promise<{ outcome: Outcome; dump: RedisKeyDump[] }> {
    const commands: Command[] = [
      ['eval', SET_EXPIRY, remaining.size, ...remaining.keys(), ...remaining.values()],
      ['call', ...atTime(command, now)],
      ['eval', DUMP, 0],
    ]
    const batch = isAtomic ? this.client.multi(commands) : this.client.pipeline(commands)
    const [restored, result, dump] = (await batch.exec()) as [CommandResult, CommandResult, CommandResult]
    for (const [error] of [restored, dump]) if (error !== null) throw error
    const [error, reply] = result
    const outcome = error === null ? { reply: comparable(reply) } : { error: comparableError(error.message) }
    return { outcome, dump: (dump[1] as [string, string, number, unknown][]).map(toDump) }
  }

  /** Waits until all messages of earlier commands have arrived. */
  async flushMessages(): Promise<void> {
    await this.client.ping()
    await this.subscriber.ping()
  }

  close(): void {
    this.client.disconnect()
    this.subscriber.disconnect()
  }
}

/** The command with the given time in place of the time of Redis. */
function atTime(command: readonly (string | number)[], now: number): readonly (string | number)[] {
  const [name, text, keyCount, ...input] = command
  if (name !== 'EVAL') return command
  const frozen = String(text).replaceAll("redis.call('TIME')", '{ KEYS[#KEYS - 1], KEYS[#KEYS] }')
  const keys = input.slice(0, Number(keyCount))
  const seconds = Math.floor(now / 1000)
  const time = [seconds, Math.floor((now - seconds * 1000) * 1000)]
  return ['EVAL', frozen, Number(keyCount) + 2, ...keys, ...time, ...input.slice(Number(keyCount))]
}
