import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FleetRetryBudget } from '../src/retry-budget.js'
import { missing, RealRedis, until } from './redis.js'
import { node } from './setup.js'

let server: RealRedis

describe.skipIf(missing !== undefined)('a retry budget that a fleet shares', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('lends no more than the fleet has, except for one slice of credit per node', async () => {
    const nodes = [await node(server.url, 'a'), await node(server.url, 'b'), await node(server.url, 'c')]
    // 50 for the fleet, in slices of 5, over a window that does not end during the test.
    const options = { ratio: 0, reservePerSecond: 0.05, window: 1_000_000 }
    const budgets = nodes.map(({ state }) => state.budget('api', options))
    let taken = 0
    for (let idle = 0; idle < 50; ) {
      const before = taken
      for (const budget of budgets) if (budget.withdraw()) taken++
      idle = taken === before ? idle + 1 : 0
      await until(() => true)
      await nodes[0]?.state.nodes()
    }
    expect(taken).toBeGreaterThanOrEqual(50)
    expect(taken).toBeLessThanOrEqual(50 + 3 * 5)
  })

  it('grows with the calls of all nodes', async () => {
    const nodes = [await node(server.url, 'a'), await node(server.url, 'b')]
    const options = { ratio: 0.01, reservePerSecond: 0, window: 1_000_000 }
    const [a, b] = nodes.map(({ state }) => state.budget('calls', options))
    for (let i = 0; i < 1000; i++) a?.deposit()
    await until(async () => {
      await nodes[1]?.state.nodes()
      await (b as unknown as { borrow(): Promise<void> }).borrow()
      return b?.withdraw()
    })
  })

  it('is replaced by a budget of the node while Redis is not available', async () => {
    const own = await RealRedis.start()
    const { state } = await node(own.url, 'a')
    const budget = state.budget('api', { ratio: 0, reservePerSecond: 1, window: 3_000 })
    await own.kill()
    await until(() => !state.status().up)
    expect([1, 2, 3, 4].map(() => budget.withdraw())).toEqual([true, true, true, false])
  })

  it('is replaced by a budget of the node while Redis rejects the request', async () => {
    const { state } = await node(server.url, 'a')
    await state['redis'].send('SET', 'holdfast:{budget:taken}:window', 'something else')
    const budget = state.budget('taken', { ratio: 0, reservePerSecond: 1, window: 3_000 })
    await until(() => budget['isRejected'])
    expect([1, 2, 3, 4].map(() => budget.withdraw())).toEqual([true, true, true, false])
    const { commands } = state.status()
    for (let i = 0; i < 5000; i++) budget.deposit()
    expect(state.status().commands - commands).toBeLessThan(10)
    expect(state.status().up).toBe(true)
  })

  it('reports only the calls of the last window', async () => {
    const clock = fakeClock()
    const sent: unknown[][] = []
    const redis = { isUp: true, run: async (...args: unknown[]) => (sent.push(args), [0, 0]) }
    const budget = new FleetRetryBudget('api', redis as never, { window: 1000, clock })
    await clock.advance(0)
    for (let i = 0; i < 900; i++) budget.deposit()
    await clock.advance(9000)
    await budget.borrow()
    expect(sent.at(-1)?.[2]).toEqual([100, 5, 0.2, 10, 1000])
  })
})
