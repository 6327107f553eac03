import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { createSimulatedRedis } from '../../src/substitutes/redis/server.js'
import { createFleetNode } from '../fleet-node.js'

// A node whose operation is called once per hour keeps a probe permit for two hours, because its next call is a probe then. All
// other nodes waited for it: also if the node had been killed, and also if their own operations were called every minute.

const HOUR = 3_600_000

/** Two nodes that share a breaker. Its open duration has ended, and `rare` has a permit that waits for two hours. */
async function createFleet() {
  const clock = fakeClock()
  const redis = createSimulatedRedis()
  const createNode = (node: string) =>
    createFleetNode(node, new CircuitBreaker({ id: 'api', timeoutDuration: '30s', clock }), redis)
  const rare = createNode('rare')
  const other = createNode('other')
  rare.breaker.trip()
  await clock.advance(1000)
  await other.link.sync()
  await clock.advance(HOUR)
  for (let calls = 0; calls < 2; calls++) {
    expect(rare.breaker.admit()).toBeUndefined()
    await clock.advance(calls === 0 ? HOUR : 1000)
  }
  return { clock, rare, other }
}

/** Calls in a fixed interval until a call is admitted. Returns the number of rejected calls. */
async function callUntilAdmitted(
  breaker: CircuitBreaker,
  advance: (ms: number) => Promise<void>,
  intervalMs: number,
): Promise<number> {
  for (let rejected = 0; ; rejected++) {
    const permit = breaker.admit()
    permit?.success()
    await advance(intervalMs)
    if (permit !== undefined) return rejected
    expect(rejected).toBeLessThan(100)
  }
}

it('lets a node that is called every minute probe while the permit of another waits for a call', async () => {
  const { clock, rare, other } = await createFleet()
  expect(await callUntilAdmitted(other.breaker, clock.advance, 60_000)).toBeLessThanOrEqual(3)
  expect(other.breaker.state).toBe('closed')
  rare.link.close()
  other.link.close()
})

it('grants the permit of a killed node to another within 10 seconds', async () => {
  const { clock, rare, other } = await createFleet()
  rare.connection.isUp = false
  expect(await callUntilAdmitted(other.breaker, clock.advance, 500)).toBeLessThanOrEqual(22)
  expect(other.breaker.state).toBe('closed')
  other.link.close()
})

it('keeps the permit of a node while another is called as rarely', async () => {
  const { clock, rare, other } = await createFleet()
  expect(other.breaker.admit()).toBeUndefined()
  await clock.advance(HOUR)
  const permit = rare.breaker.admit()
  permit?.success()
  await clock.advance(1000)
  expect(
    permit === undefined ? await callUntilAdmitted(rare.breaker, clock.advance, HOUR) : 0,
  ).toBeLessThanOrEqual(3)
  expect(rare.breaker.state).toBe('closed')
  rare.link.close()
  other.link.close()
})
