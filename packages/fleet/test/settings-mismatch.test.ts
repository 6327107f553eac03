import type { CircuitBreaker } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missing, RealRedis, until } from './redis.js'
import { countEvents, node, type TestNode } from './setup.js'

const OLD = { timeoutDuration: 1_200_000 }
const NEW = { timeoutDuration: 400_000 }

/** A node expires after three intervals, which no stall of a busy machine reaches. */
const HEARTBEAT_MS = 60_000

let server: RealRedis
let fleetCount = 0

interface Member extends TestNode {
  readonly breaker: CircuitBreaker
}

/** Creates a fleet in a database of its own; returns a function that starts nodes with different settings. */
function fleet(heartbeat = HEARTBEAT_MS) {
  const db = ++fleetCount
  return async (name: string, settings: typeof OLD): Promise<Member> => {
    const one = await node(server.url.replace(/0$/, String(db)), name, { heartbeat })
    return { ...one, breaker: await one.add('service:api', { share: 'state' }, settings) }
  }
}

/** Stops a node without the message that it leaves. */
function kill({ state }: TestNode): void {
  const members = state['membership']
  members['isClosed'] = true
  members['runtime'].clock.clearTimer(members['timer'])
  state['redis'].close()
}

/** Checks that a command on each node is applied by all. */
async function expectTogether(members: readonly Member[]): Promise<void> {
  for (const { breaker } of members) {
    breaker.trip()
    await until(() => members.every((one) => one.breaker.state === 'open'))
    breaker.reset()
    await until(() => members.every((one) => one.breaker.state === 'closed'))
  }
}

const mismatchedNodesOf = ({ state, breaker }: Member) => [
  ...(state['breakers'].get(breaker.id)?.mismatchedNodes ?? []),
]

describe.skipIf(missing !== undefined)('nodes with changed settings', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('ignore the settings of a node that has left', async () => {
    const start = fleet()
    await (await start('old', OLD)).state.close()
    const members = [await start('a', NEW), await start('b', NEW)]
    await expectTogether(members)
    expect(members.map((one) => countEvents(one, 'alert'))).toEqual([0, 0])
  })

  it('ignore the settings of a killed node once its heartbeat has expired', async () => {
    const start = fleet(100)
    kill(await start('old', OLD))
    const members = [await start('a', NEW), await start('b', NEW)]
    await expectTogether(members)
  })

  it('detect that a node has left without a message', async () => {
    const start = fleet()
    const old = await start('old', OLD)
    const members = [await start('a', NEW), await start('b', NEW)] as const
    await until(() => members.every((one) => mismatchedNodesOf(one).length === 1))
    // No message says that it left.
    kill(old)
    await members[0].state['redis'].send('ZREM', 'holdfast:{nodes}:live', 'old')
    for (const { state } of members) await state['membership'].heartbeat()
    await until(() => members.every((one) => mismatchedNodesOf(one).length === 0))
    await expectTogether(members)
  })

  it('share the breaker after a rolling deploy', async () => {
    const start = fleet()
    const names = ['a', 'b', 'c'] as const
    const members = new Map<string, Member>()
    for (const name of names) members.set(name, await start(name, OLD))
    for (const name of names) {
      await members.get(name)?.state.close()
      members.set(name, await start(`${name}2`, NEW))
    }
    await expectTogether([...members.values()])
  })

  it('share the breaker after a rolling deploy of nodes that are killed and keep their names', async () => {
    // Each node is back before its heartbeat has expired.
    const start = fleet()
    const names = ['a', 'b', 'c'] as const
    const members = new Map<string, Member>()
    for (const name of names) members.set(name, await start(name, OLD))
    for (const name of names) {
      kill(members.get(name) as Member)
      members.set(name, await start(name, NEW))
    }
    await expectTogether([...members.values()])
  })

  it('know all live nodes with other settings, in whichever order they started', async () => {
    const start = fleet()
    const first = await start('a', OLD)
    const old = await start('b', OLD)
    await first.state.close()
    const members = [await start('c', NEW), await start('d', NEW)] as const
    await until(
      () =>
        members.every((one) => mismatchedNodesOf(one).includes('b')) && mismatchedNodesOf(old).length === 2,
    )
    for (const one of [old, ...members]) expect(countEvents(one, 'alert')).toBeGreaterThan(0)
    old.breaker.trip()
    await old.state['membership'].heartbeat()
    await members[0].state['membership'].heartbeat()
    expect(members.map(({ breaker }) => breaker.state)).toEqual(['closed', 'closed'])
    // A change that a node made alone is sent to the fleet once the settings do not differ any more.
    members[0].breaker.trip()
    await old.state.close()
    await until(() => members[1].breaker.state === 'open')
    await expectTogether(members)
  })

  it('do not send a trip to the fleet after a probe has closed the breaker again', async () => {
    const start = fleet()
    const old = await start('old', { timeoutDuration: 900_000 })
    const members = [
      await start('a', { timeoutDuration: 10 }),
      await start('b', { timeoutDuration: 10 }),
    ] as const
    await until(() => members.every((one) => mismatchedNodesOf(one).length === 1))
    const { breaker } = members[0]
    breaker.trip()
    let permit: ReturnType<CircuitBreaker['admit']>
    await until(() => (permit = breaker.admit()))
    permit?.success()
    expect(breaker.state).toBe('closed')
    const changes: string[] = []
    members[1].breaker.on(({ toState }) => void changes.push(toState))
    await old.state.close()
    await until(() => members.every((one) => mismatchedNodesOf(one).length === 0))
    // These replies arrive after those of the synchronization that the departure caused.
    const link = members[0].state['breakers'].get(breaker.id)
    await link?.sync()
    await link?.sync()
    breaker.disable()
    await until(() => members[1].breaker.disabled)
    expect(changes).toEqual([])
  })
})
