import type { CircuitBreaker } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missing, RealRedis, until } from './redis.js'
import { node, type TestNode, told } from './setup.js'

const OLD = { timeoutDuration: 30_000 }
const NEW = { timeoutDuration: 20_000 }

let server: RealRedis
let made = 0

interface Member extends TestNode {
  readonly breaker: CircuitBreaker
}

/** A fleet of its own, whose nodes are started with one setting or another. */
function fleet(heartbeat = 100) {
  const db = ++made
  return async (name: string, settings: typeof OLD): Promise<Member> => {
    const one = await node(server.url.replace(/0$/, String(db)), name, { heartbeat })
    return { ...one, breaker: await one.add('service:api', { share: 'state' }, settings) }
  }
}

/** The node is there no more, and did not say so. */
function kill({ state }: TestNode): void {
  const members = state['membership']
  members['isClosed'] = true
  members['runtime'].clock.clearTimer(members['timer'])
  state['redis'].close()
}

/** What each does, all do. */
async function expectTogether(members: readonly Member[]): Promise<void> {
  for (const { breaker } of members) {
    breaker.trip()
    await until(() => members.every((one) => one.breaker.state === 'open'))
    breaker.reset()
    await until(() => members.every((one) => one.breaker.state === 'closed'))
  }
}

const strangersOf = ({ state, breaker }: Member) => [
  ...(state['breakers'].get(breaker.id)?.mismatchedNodes ?? []),
]

describe.skipIf(missing !== undefined)('nodes whose settings were changed', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('take no notice of what a node had that left', async () => {
    const start = fleet()
    await (await start('old', OLD)).state.close()
    const members = [await start('a', NEW), await start('b', NEW)]
    await expectTogether(members)
    expect(members.map((one) => told(one, 'alert'))).toEqual([0, 0])
  })

  it('take no notice of what a node had that was killed, as soon as its heartbeat has run out', async () => {
    const start = fleet()
    kill(await start('old', OLD))
    const members = [await start('a', NEW), await start('b', NEW)]
    await expectTogether(members)
  })

  it('find that out by themselves where nobody tells them who left', async () => {
    const start = fleet()
    const old = await start('old', OLD)
    const members = [await start('a', NEW), await start('b', NEW)] as const
    await until(() => members.every((one) => strangersOf(one).length === 1))
    // Nobody says that it left.
    kill(old)
    await members[0].state['redis'].send('ZREM', 'holdfast:{nodes}:live', 'old')
    await expectTogether(members)
  })

  it('are together at the end of a rolling deploy', async () => {
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

  it('are together at the end of a rolling deploy of nodes that are killed and keep their names', async () => {
    // Nobody is missed: each is there again before its heartbeat has run out.
    const start = fleet(60_000)
    const names = ['a', 'b', 'c'] as const
    const members = new Map<string, Member>()
    for (const name of names) members.set(name, await start(name, OLD))
    for (const name of names) {
      kill(members.get(name) as Member)
      members.set(name, await start(name, NEW))
    }
    await expectTogether([...members.values()])
  })

  it('all know of each other while they live, whoever came first', async () => {
    const start = fleet()
    const first = await start('a', OLD)
    const old = await start('b', OLD)
    await first.state.close()
    const members = [await start('c', NEW), await start('d', NEW)] as const
    await until(() => members.every((one) => strangersOf(one).includes('b')) && strangersOf(old).length === 2)
    for (const one of [old, ...members]) expect(told(one, 'alert')).toBeGreaterThan(0)
    old.breaker.trip()
    await old.state['membership'].heartbeat()
    await members[0].state['membership'].heartbeat()
    expect(members.map(({ breaker }) => breaker.state)).toEqual(['closed', 'closed'])
    // What happened to one of them while it stood alone is told when it need not any more.
    members[0].breaker.trip()
    await old.state.close()
    await until(() => members[1].breaker.state === 'open')
    await expectTogether(members)
  })

  it('do not bring the fleet an order that was followed by a test which closed the breaker again', async () => {
    const start = fleet()
    const old = await start('old', { timeoutDuration: 60_000 })
    const members = [
      await start('a', { timeoutDuration: 10 }),
      await start('b', { timeoutDuration: 10 }),
    ] as const
    await until(() => members.every((one) => strangersOf(one).length === 1))
    const { breaker } = members[0]
    breaker.trip()
    let permit: ReturnType<CircuitBreaker['admit']>
    await until(() => (permit = breaker.admit()))
    permit?.success()
    expect(breaker.state).toBe('closed')
    const changes: string[] = []
    members[1].breaker.on(({ toState }) => void changes.push(toState))
    await old.state.close()
    await until(() => members.every((one) => strangersOf(one).length === 0))
    // Answered after whatever was said when they met again.
    const link = members[0].state['breakers'].get(breaker.id)
    await link?.sync()
    await link?.sync()
    breaker.disable()
    await until(() => members[1].breaker.disabled)
    expect(changes).toEqual([])
  })
})
