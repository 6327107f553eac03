import { describe, expect, it } from 'vitest'
import { runInMacrotask } from '../src/engine/microtasks.js'
import { Scheduler } from '../src/engine/scheduler.js'
import { Choices } from '../src/engine/seeded-random.js'
import type { ConnectionLostError } from '../src/network/link.js'
import { Network } from '../src/network/network.js'

/** A network with the decisions of a seed. `run` advances the virtual time. */
function createNetwork(seed: number) {
  const choices = new Choices(seed)
  const scheduler = new Scheduler(choices.fork().random)
  const network = new Network(scheduler, choices.fork())
  const run = (ms: number) => runInMacrotask(() => scheduler.runUntil(scheduler.now + ms))
  const open = async () => {
    const link = network.createLink('n0', 'redis')
    const opened = link.open()
    await run(20)
    await opened
    return link
  }
  return { network, scheduler, run, open }
}

/** What the server executes if a client sends `old`, loses its connection, and sends `new` over another one. */
async function executedAfterLoss(seed: number, lose: (network: Network) => void): Promise<string[]> {
  const { network, run, open } = createNetwork(seed)
  const executed: string[] = []
  const first = await open()
  network.setDelay('n0', 'redis', 50)
  const errors: Error[] = []
  first.request(() => executed.push('old')).catch((error: ConnectionLostError) => errors.push(error))
  lose(network)
  network.setDelay('n0', 'redis')
  await run(0)
  expect(errors).toHaveLength(1)
  const second = await open()
  second.request(() => executed.push('new')).catch(() => {})
  await run(2000)
  return executed
}

const SEEDS = Array.from({ length: 24 }, (_, seed) => seed)

describe('a connection that breaks', () => {
  it('loses its requests, or the server executes them before or after those of the next connection', async () => {
    const seen = new Set<string>()
    for (const seed of SEEDS)
      seen.add((await executedAfterLoss(seed, (network) => network.reset('n0', 'redis'))).join(' '))
    expect([...seen].toSorted()).toEqual(['new', 'new old', 'old new'])
  })

  it('loses its requests if the server ends', async () => {
    for (const seed of SEEDS)
      expect(await executedAfterLoss(seed, (network) => network.resetByServer('n0', 'redis'))).toEqual([
        'new',
      ])
  })
})

describe('packets', () => {
  it('keep their order within a connection, and not between connections', async () => {
    let hasOvertaken = false
    for (const seed of SEEDS.slice(0, 10)) {
      const { network, run, open } = createNetwork(seed)
      const links = [await open(), await open()]
      network.setLosses('n0', 'redis', 0.3)
      const executed: [link: number, number: number][] = []
      for (let number = 0; number < 20; number++)
        for (const [link, { request }] of links.map(
          (each, at) => [at, { request: each.request.bind(each) }] as const,
        ))
          request(() => executed.push([link, number])).catch(() => {})
      await run(60_000)
      expect(executed).toHaveLength(40)
      for (const link of [0, 1]) {
        const numbers = executed.filter(([from]) => from === link).map(([, number]) => number)
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
      }
      hasOvertaken ||= executed.some(([, number], at) => at > 0 && number < (executed[at - 1]?.[1] ?? 0))
    }
    expect(hasOvertaken).toBe(true)
  })

  it('that were lost arrive after the time of a retransmission', async () => {
    const { network, scheduler, run, open } = createNetwork(1)
    const link = await open()
    network.setLosses('n0', 'redis', 1)
    let arrivedAt = 0
    const sentAt = scheduler.now
    link.request(() => (arrivedAt = scheduler.now)).catch(() => {})
    await run(60_000)
    expect(arrivedAt - sentAt).toBeGreaterThan(200 + 400 + 800 + 1600 + 3200)
  })

  it('arrive twice', async () => {
    const { network, run, open } = createNetwork(1)
    const link = await open()
    network.setDuplicates('n0', 'redis', 1)
    let count = 0
    link.request(() => count++).catch(() => {})
    link.push(() => count++)
    await run(1000)
    expect(count).toBe(4)
  })
})
