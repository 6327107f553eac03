// The metrics of thousands of members, a list of thousands of breakers and the text for Prometheus took 10 to 40 ms in one turn of
// the event loop.
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Holdfast, prometheus } from '../../src/index.js'
import { Metrics } from '../../src/metrics/metrics.js'

/** Counts the turns of the event loop until a promise settles. */
async function turnsUntil(result: Promise<unknown>): Promise<number> {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  await result
  return turns
}

async function openRuntime(config: object): Promise<Holdfast> {
  const hf = await Holdfast.open({ config, env: {}, watch: false, clock: fakeClock() })
  onTestFinished(() => hf.close())
  return hf
}

const members = Array.from({ length: 5000 }, (_, i) => ({
  id: `m${i}`,
  url: `http://10.0.${i >> 8}.${i & 255}:80`,
}))

it('gives the event loop turns while the metrics of members are read', async () => {
  const metrics = new Metrics(fakeClock({ wall: Date.UTC(2026, 0, 29) }))
  for (const { id } of members) metrics.recordMemberAttempt('a', id, true, 20)
  const result = metrics.byMember()
  expect(await turnsUntil(result)).toBeGreaterThanOrEqual(26)
  expect(Object.keys((await result).proxies)).toEqual(members.map(({ id }) => id))
})

it('gives the event loop turns while breakers are listed', async () => {
  const hf = await openRuntime({ pools: { big: { members } } })
  const result = hf.breakers.list()
  expect(await turnsUntil(result)).toBeGreaterThanOrEqual(18)
  expect((await result).map(({ proxyId }) => proxyId)).toEqual(members.map(({ id }) => id))
})

it('does not list a breaker that is closed by its turn as open', async () => {
  const hf = await openRuntime({ pools: { big: { members } } })
  for (const { id } of members.slice(0, 600)) hf.pools.get('big').breaker(id).trip()
  const result = hf.breakers.list({ state: 'open' })
  await Promise.resolve()
  hf.pools.get('big').breaker('m599').reset()
  const listed = await result
  expect(listed).toHaveLength(599)
  expect(listed.map(({ state }) => state)).not.toContain('closed')
})

it('gives the event loop turns while the metrics are formatted for Prometheus, and after each pool', async () => {
  const pools = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`p${i}`, { members: members.slice(0, 2) }]),
  )
  const hf = await openRuntime({ policies: { some: { maxAttempts: 1 } }, pools })
  for (let i = 0; i < 200; i++) await hf.run(`operation ${i}`, async () => 1)
  const result = prometheus(hf)
  expect(await turnsUntil(result)).toBeGreaterThanOrEqual(30 + 13)
  expect((await result).match(/^holdfast_pool_members\{.*status="available"\} 2$/gm)).toHaveLength(30)
})

it('reports the pools that exist at the end of a reading for Prometheus', async () => {
  const pools = { first: { members: members.slice(0, 2) }, second: { members: members.slice(0, 2) } }
  const hf = await openRuntime({ pools })
  const list = hf.pools.list.bind(hf.pools)
  let calls = 0
  // The second pool is removed after the pools were listed.
  hf.pools.list = async () => (++calls === 1 ? list() : (await list()).filter(({ id }) => id === 'first'))
  const text = await prometheus(hf)
  expect(text).toContain('holdfast_pool_members{pool="first",status="available"} 2')
  expect(text).not.toContain('pool="second"')
})
