import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  COMMAND,
  EXTEND_PROBE,
  GRANT_PROBE,
  LIST_COOLDOWNS,
  OPEN,
  READ,
  READ_COOLDOWN,
  type RedisScript,
  SETTLE_PROBE,
  START_COOLDOWN,
} from '../../src/lua/scripts.js'
import { missing, RealRedis } from '../redis.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START = 1_790_000_000_000

let server: RealRedis
let redis: Redis
/** The time of Redis, which scripts get in place of that of the server. */
let now = START

async function evaluate({ text }: RedisScript, keys: string[], args: (string | number)[]): Promise<unknown> {
  const frozen = text.replaceAll(
    "redis.call('TIME')",
    `{ '${Math.floor(now / 1000)}', '${(now % 1000) * 1000}' }`,
  )
  return redis.eval(frozen, keys.length, ...keys, ...args)
}

interface View {
  readonly state: string
  readonly left: number
  readonly age?: number
  readonly token?: string
  readonly early?: number
  readonly wait?: number
  readonly gone?: boolean
}

async function breaker(script: RedisScript, ...args: (string | number)[]): Promise<View> {
  const reply = await evaluate(script, ['state', 'round', 'counts'], ['node', 'service:api', 0, ...args])
  return JSON.parse(reply as string) as View
}

const grant = () => breaker(GRANT_PROBE, 1, 60_000, 0, 1000)
const cooldown = (script: RedisScript, ...args: (string | number)[]) =>
  evaluate(script, ['cooldowns'], ['node', 'pool', ...args])

describe.skipIf(missing !== undefined)('a Redis whose clock goes back by an hour', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
    redis = new Redis(server.url)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.kill()
  })
  beforeEach(async () => {
    await redis.flushall()
    now = START
  })

  it('keeps a breaker open for its open duration', async () => {
    await breaker(OPEN, 30_000, 1, 2)
    now -= HOUR_MS
    expect(await breaker(READ)).toMatchObject({ state: 'open', left: 30_000, age: 0 })
    now += 10_000
    expect(await grant()).toMatchObject({ wait: 20_000 })
    now += 20_000
    expect(await grant()).toMatchObject({ state: 'half_open', token: expect.any(String) as string, early: 0 })
  })

  it('keeps a breaker open for a year that an operator has tripped', async () => {
    await breaker(COMMAND, 'trip', 365 * DAY_MS, 1, 0, 365 * DAY_MS)
    now -= 3 * DAY_MS
    expect(await breaker(READ)).toMatchObject({ state: 'open', left: 365 * DAY_MS })
  })

  it('grants a probe after the lease of a killed node', async () => {
    await breaker(OPEN, 0, 1, 2)
    await grant()
    now -= HOUR_MS
    expect(await grant()).toMatchObject({ wait: 60_000 })
    now += 60_000
    expect(await grant()).toMatchObject({ token: expect.any(String) as string })
  })

  it('accepts the outcome of a probe whose lease was extended', async () => {
    await breaker(OPEN, 0, 1, 2)
    const { token = '' } = await grant()
    now += 50_000
    await breaker(EXTEND_PROBE, token, 120_000)
    now -= HOUR_MS
    expect(await grant()).toMatchObject({ wait: 120_000 })
    now += 100_000
    expect(await breaker(SETTLE_PROBE, token, 'success', 1, 30_000, 2, 1)).toMatchObject({ state: 'closed' })
  })

  it('ends the cooldowns of members after their durations', async () => {
    await cooldown(START_COOLDOWN, 'm1', 5000)
    await cooldown(START_COOLDOWN, 'm2', 60_000)
    now -= HOUR_MS
    expect(await cooldown(LIST_COOLDOWNS)).toEqual([
      ['m1', 5000],
      ['m2', 60_000],
    ])
    now += 5000
    expect(await cooldown(READ_COOLDOWN, 'm1')).toEqual([['m1', 0]])
    expect(await cooldown(READ_COOLDOWN, 'm2')).toEqual([['m2', 55_000]])
    now += 55_000
    expect(await cooldown(LIST_COOLDOWNS)).toEqual([])
  })
})
