import { isDeepStrictEqual } from 'node:util'
import * as scripts from '../../../fleet/src/lua/scripts.js'
import {
  createSimulatedRedis,
  type RedisKeyDump,
  type RedisResult,
  type SimulatedRedis,
} from '../../src/substitutes/redis/server.js'
import { comparable, comparableError, type Outcome, type TimedRedis } from './real-redis.js'
import type { Command, Known, Pause, Step } from './redis-steps.js'

const START = 1_790_000_000_000.25

/** The real expiry is compared roughly, because the real server measures it in real time. */
const EXPIRY_TOLERANCE_MS = 5000
const MIN_EXPIRY_MS = 2000

/** After this time a vote begins another round. */
const NEW_ROUND_AFTER_MS = 1000
/** A permit can be requested this long before the end of the open duration. */
const REQUEST_AHEAD_MS = 150
/** Later times of the data are not waited for. */
const MAX_BOUNDARY_MS = 100_000

export const toOutcome = ({ reply, error }: RedisResult): Outcome =>
  error === undefined ? { reply: comparable(reply) } : { error: comparableError(error) }

/** The data without the expiry, sorted by key. Entries of a stream have no ids, because ids contain the time of the server. */
const contentOf = (dump: readonly RedisKeyDump[]) =>
  dump
    .map(({ key, type, content }) => ({
      key,
      type,
      content:
        type === 'stream' ? (content as { fields?: unknown }[]).map((each) => each.fields ?? each) : content,
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))

/** Both servers with the same data. */
export class Comparison {
  readonly simulated: SimulatedRedis = createSimulatedRedis()
  now = START
  private readonly real: TimedRedis
  private readonly messages: unknown[] = []
  /** The keys of the real server after the last step. Those that have expired since are deleted there. */
  private realKeys: readonly string[] = []

  constructor(real: TimedRedis) {
    this.real = real
    this.simulated.execute(['SUBSCRIBE', scripts.CHANNEL], START, 'subscriber')
  }

  /** Executes a command on both, and compares the replies and the data. Returns the reply. */
  async step(command: Command, isAtomic = true): Promise<Outcome> {
    const { now } = this
    await this.deleteExpiring()
    // The state before the command determines what is left of each expiry.
    const before = this.simulated.dump(now)
    const remaining = new Map(before.filter(({ ttl }) => ttl >= 0).map(({ key, ttl }) => [key, ttl]))
    for (const key of this.realKeys) if (!before.some((each) => each.key === key)) remaining.set(key, -1)
    const { outcome, dump } = await this.real.step(command, now, remaining, isAtomic)
    const result = this.simulated.execute(command, now)
    this.messages.push(...result.pushes.map(({ text }) => comparable(text)))
    compare('replies', toOutcome(result), outcome, command)
    const after = this.simulated.dump(now)
    compare('data', contentOf(after), contentOf(dump), command)
    for (const { key, ttl } of after) {
      const actual = dump.find((each) => each.key === key)?.ttl ?? -2
      const isSame = ttl < 0 ? actual === ttl : Math.abs(actual - ttl) < EXPIRY_TOLERANCE_MS
      compare(`expiry of ${key}`, isSame ? actual : ttl, actual, command)
    }
    this.realKeys = dump.map(({ key }) => key)
    return outcome
  }

  /** Executes the commands of a history on both. */
  async run(steps: readonly Step[]): Promise<void> {
    const known: Known = { epochs: new Map(), tokens: [], round: '1' }
    for (const { pause, create } of steps) {
      this.now = typeof pause === 'number' ? this.now + pause : this.findBoundary(pause)
      const { reply } = await this.step(create(known, this.now))
      const { id, epoch, token } = Object(reply) as { id?: string; epoch?: number; token?: string }
      if (id !== undefined && epoch !== undefined) known.epochs.set(id, epoch)
      if (token !== undefined) known.tokens.push(token)
      const round = this.simulated.dump(this.now).find(({ key }) => key.endsWith(':round'))?.content as
        | { at?: string }
        | undefined
      if (round?.at !== undefined) known.round = round.at
    }
    await this.compareMessages()
  }

  /** A time just before, at or after one of the next times that the data contain: the end of a lease, a cooldown or a round. */
  private findBoundary({ boundary, offsetMs }: Exclude<Pause, number>): number {
    const times = this.simulated
      .dump(this.now)
      .flatMap(({ content }) => Object.entries(Object(content)))
      .flatMap(([field, value]) => {
        if (field === 'at') return [Number(value) + NEW_ROUND_AFTER_MS]
        return field === 'until' ? [Number(value), Number(value) - REQUEST_AHEAD_MS] : [Number(value)]
      })
      .map((time) => Math.ceil(time) + offsetMs + (START % 1))
      .filter((time) => time > this.now && time < this.now + MAX_BOUNDARY_MS)
      .sort((a, b) => a - b)
    return times[boundary % Math.max(1, times.length)] ?? this.now
  }

  /** Deletes the keys that would expire on the real server while the test looks at them. */
  private async deleteExpiring(): Promise<void> {
    const keys = this.simulated.dump(this.now).filter(({ ttl }) => ttl >= 0 && ttl < MIN_EXPIRY_MS)
    for (const { key } of keys) {
      this.simulated.execute(['DEL', key], this.now)
      await this.real.client.del(key)
    }
  }

  private async compareMessages(): Promise<void> {
    await this.real.flushMessages()
    compare('messages', this.messages, this.real.messages, [])
  }
}

/** @throws if the substitute and the real server differ */
function compare(what: string, simulated: unknown, real: unknown, command: Command): void {
  if (isDeepStrictEqual(simulated, real)) return
  const name = Object.entries(scripts).find(([, script]) => Object(script).text === command[1])?.[0]
  throw new Error(
    `different ${what} after ${name ?? ''} ${command.slice(name === undefined ? 0 : 2).join(' ')}\nsubstitute: ${JSON.stringify(simulated)}\nreal Redis: ${JSON.stringify(real)}`,
  )
}
