import fc from 'fast-check'
import { systemClock } from 'holdfast/internal'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  parseBreakerState,
  parseCooldowns,
  parseHeartbeat,
  parseLive,
  parseLoan,
  parseMessage,
  parseNodeIds,
  parseNodeRecord,
  parseScored,
} from '../../../fleet/src/replies.js'
import { missing, RealRedis, until } from '../../../fleet/test/redis.js'
import { fail, node } from '../../../fleet/test/setup.js'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 0, 29)

const VIEW = {
  id: 'service:api',
  node: 'a',
  epoch: NOW * 10,
  state: 'open',
  left: 1000,
  age: 5,
  openFor: 30_000,
  openings: 1,
  failures: 5,
  off: false,
  now: NOW,
  wait: 5,
  token: '17696448000000:1',
  early: 0,
  gone: false,
  settings: '{}',
  by: 'a',
}
const MESSAGES = {
  view: VIEW,
  ask: { ask: 'service:api', round: '1769644800000', node: 'a' },
  settings: { settings: '{}', of: 'service:api', node: 'a', answer: true },
  joined: { joined: true, node: 'a' },
  left: { left: true, node: 'a' },
  rest: { rest: 'p', member: 'm', left: 1000, node: 'a' },
  layer: { layer: true, node: 'a' },
}

/** Values that are no number, text or boolean that a node would send. */
const garbage = fc.oneof(
  fc.constantFrom(null, 'NaN', 'Infinity', '-1', -1, -1e300, '', 'x'.repeat(70_000), [], {}, [1], {
    valueOf: 1,
  }),
  fc.anything({ maxDepth: 1 }),
)

const isOk = (parsed: object) => 'value' in parsed

describe('a message of the fleet', () => {
  it.each(Object.entries(MESSAGES))('of the kind %s is parsed unchanged', (_, message) => {
    expect(parseMessage(JSON.stringify(message))).toEqual({ value: message })
  })

  it.each(Object.entries(MESSAGES))(
    'of the kind %s is rejected or parsed safely for every value of a field',
    (_, message) => {
      fc.assert(
        fc.property(fc.constantFrom(...Object.keys(message)), garbage, (field, value) => {
          let text: string
          try {
            text = JSON.stringify({ ...message, [field]: value })
          } catch {
            return
          }
          const parsed = parseMessage(text)
          if (!('value' in parsed)) return
          for (const held of Object.values(parsed.value)) {
            if (typeof held === 'number') expect(Number.isFinite(held) && held >= 0).toBe(true)
            if (typeof held === 'string') expect(held.length).toBeLessThanOrEqual(4096)
          }
          const { left = 0, openFor = 0, state = 'open' } = parsed.value as Partial<typeof VIEW>
          expect(Number(left)).toBeLessThanOrEqual(365 * DAY)
          expect(openFor).toBeLessThanOrEqual(365 * DAY)
          expect(['closed', 'open', 'half_open']).toContain(state)
        }),
        { numRuns: 300 },
      )
    },
  )

  it.each([
    ['epoch', 'NaN'],
    ['epoch', -1],
    ['epoch', 1.5],
    ['epoch', 1e300],
    ['state', 'broken'],
    ['left', -5],
    ['left', '9'],
    ['openFor', null],
    ['openings', 'many'],
    ['off', 1],
    ['node', 7],
    ['node', 'x'.repeat(513)],
    ['id', ''],
    ['token', {}],
  ])('with the %s %j is rejected', (field, value) => {
    expect(isOk(parseMessage(JSON.stringify({ ...VIEW, [field]: value })))).toBe(false)
    expect(isOk(parseBreakerState(JSON.stringify({ ...VIEW, [field]: value })))).toBe(false)
  })

  it('has its durations limited', () => {
    const parsed = parseMessage(JSON.stringify({ ...VIEW, left: 1e300, openFor: 1e20, failures: 1e300 }))
    expect(parsed).toMatchObject({ value: { left: 365 * DAY, openFor: 365 * DAY, failures: 1e9 } })
  })

  it('is not quoted in the warning', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12 }), (secret) => {
        const parsed = parseMessage(JSON.stringify({ ...VIEW, state: `${secret}!` }))
        expect('problem' in parsed && parsed.problem.includes(secret)).toBe(false)
      }),
    )
  })

  it('does not throw for any content, nor does a reply', () => {
    const parsers = [
      parseMessage,
      parseBreakerState,
      parseHeartbeat,
      parseLive,
      parseNodeIds,
      parseNodeRecord,
      parseCooldowns,
      parseScored,
      parseLoan,
    ]
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, text) => {
        for (const parse of parsers) {
          expect(['value', 'problem']).toContain(Object.keys(parse(value))[0])
          expect(['value', 'problem']).toContain(Object.keys(parse(text))[0])
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe.skipIf(missing !== undefined)('a node of a fleet', () => {
  let redis: RealRedis
  let client: Redis
  beforeAll(async () => {
    redis = await RealRedis.start()
    client = new Redis(redis.url)
  })
  afterAll(async () => {
    client.disconnect()
    await redis?.kill()
  })

  /** Two nodes that share a breaker, and a way to publish in their name. */
  async function fleet(id: string) {
    const warnings: string[] = []
    // A node expires after three intervals, which no stall of a busy machine reaches.
    const options = { heartbeat: 60_000 }
    const [a, b] = [await node(redis.url, `${id}-a`, options), await node(redis.url, `${id}-b`, options)]
    const internals = b.state as unknown as {
      runtime: { warn(line: string): void }
      invalid: { warn: unknown }
    }
    const say = (line: string) => void warnings.push(line)
    internals.runtime.warn = say
    const breakers = [await a.add(id), await b.add(id)] as const
    const forge = (message: object) => client.publish('holdfast:news', JSON.stringify(message))
    /** Resolves when both nodes have read everything that was published before. */
    const settled = async () => {
      const marker = `${id}-marker-${++markers}`
      await client.zadd('holdfast:{nodes}:live', systemClock.wall() + 60_000, marker)
      await forge({ joined: true, node: marker })
      const heard = (of: typeof a) =>
        of.events.some(({ eventType, context }) => eventType === 'node_joined' && context?.node === marker)
      await until(() => heard(a) && heard(b))
      await client.zrem('holdfast:{nodes}:live', marker)
    }
    return { a, b, breakers, forge, settled, warnings }
  }

  let markers = 0
  const view = (id: string, more: object = {}) => ({
    id,
    node: 'mallory',
    epoch: systemClock.wall() * 10 + 1000,
    state: 'open',
    left: 60_000,
    openFor: 60_000,
    openings: 1,
    failures: 5,
    off: false,
    ...more,
  })

  it('does not open a breaker by a message whose epoch is not a number, and warns once', async () => {
    const { breakers, forge, settled, warnings } = await fleet('forged-nan')
    for (let i = 0; i < 5; i++) await forge(view('forged-nan', { epoch: 'NaN' }))
    await forge(view('forged-nan', { epoch: null }))
    await settled()
    expect(breakers.map(({ state }) => state)).toEqual(['closed', 'closed'])
    expect(warnings.filter((line) => line.includes('ignored a message'))).toHaveLength(1)
  })

  it('does not open, close or disable a breaker by a message that Redis does not confirm', async () => {
    const { breakers, forge, settled } = await fleet('forged-state')
    await forge(view('forged-state'))
    await forge(view('forged-state', { off: true, state: 'closed' }))
    await settled()
    expect(breakers.map(({ state, isDisabled }) => [state, isDisabled])).toEqual([
      ['closed', false],
      ['closed', false],
    ])
    fail(breakers[0], 2)
    await until(() => breakers[1].state === 'open')
    await forge(view('forged-state', { epoch: systemClock.wall() * 10 + 1e6, state: 'closed' }))
    await settled()
    expect(breakers.map(({ state }) => state)).toEqual(['open', 'open'])
  })

  it('follows the fleet after a message with a huge epoch', async () => {
    const { breakers, forge, settled } = await fleet('forged-epoch')
    await forge(view('forged-epoch', { epoch: Number.MAX_SAFE_INTEGER }))
    await settled()
    fail(breakers[0], 2)
    await until(() => breakers[1].state === 'open')
    breakers[1].reset()
    await until(() => breakers[0].state === 'closed')
  })

  it('follows the fleet after the state of a breaker in Redis was damaged', async () => {
    const { breakers } = await fleet('damaged')
    const key = 'holdfast:{damaged}:state'
    await client.hset(key, {
      epoch: '9e300',
      state: 'sideways',
      until: 'nan',
      openFor: '-inf',
      granted: 'x',
      'lease:1:1': 'x',
    })
    fail(breakers[0], 2)
    await until(() => breakers[1].state === 'open')
    breakers[0].reset()
    await until(() => breakers[1].state === 'closed')
    const epoch = Number(await client.hget(key, 'epoch'))
    expect(epoch).toBeLessThan((systemClock.wall() + DAY) * 10)
  })

  it('does not report nodes as joined or left that are not in Redis', async () => {
    const { a, b, forge, settled } = await fleet('forged-nodes')
    await forge({ joined: true, node: 'mallory' })
    await forge({ left: true, node: b.name })
    await settled()
    expect(a.events.filter(({ context }) => ['mallory', b.name].includes(String(context?.node)))).toEqual([
      expect.objectContaining({ eventType: 'node_joined', context: { node: b.name } }),
    ])
  })

  it('does not decide alone because of the settings of a node that is not alive', async () => {
    const { breakers, forge, settled, a } = await fleet('forged-settings')
    await forge({ settings: '{"failureThreshold":99}', of: 'forged-settings', node: 'mallory' })
    await settled()
    expect(a.events.filter(({ eventType }) => eventType === 'alert')).toEqual([])
    fail(breakers[0], 2)
    await until(() => breakers[1].state === 'open')
  })

  it('lists other nodes and their events if one record is damaged', async () => {
    const { a } = await fleet('damaged-records')
    await client.hset('holdfast:{nodes}:records', 'mallory', '{"startedAt":"never"}')
    onTestFinished(() => void client.hdel('holdfast:{nodes}:records', 'mallory'))
    const names = (await a.state.nodes()).map(({ id }) => id)
    expect(names).toContain('damaged-records-b')
    expect(names).not.toContain('mallory')
    await client.xadd('holdfast:events', '*', 'node', 'mallory', 'event', '{"event_type":5}')
    await client.xadd('holdfast:events', '*', 'nonsense', 'x')
    await expect(a.state.events()).resolves.toEqual(expect.any(Array))
  })
})
