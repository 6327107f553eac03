import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle, NodeProcess, type Report } from './processes.js'
import { missing, RealRedis, until } from './redis.js'
import { afterwards } from './setup.js'

let code: Awaited<ReturnType<typeof bundle>>

const SIZE = 5

async function fleet(share: string): Promise<{ server: RealRedis; nodes: NodeProcess[] }> {
  const server = await RealRedis.start()
  afterwards(() => server.kill())
  const nodes: NodeProcess[] = []
  afterwards(() => Promise.all(nodes.map((node) => node.kill())))
  const names = Array.from({ length: SIZE }, (_, i) => `n${i}`)
  nodes.push(
    ...(await Promise.all(names.map((name) => NodeProcess.start(code.url, server.url, name, share)))),
  )
  return { server, nodes }
}

const ask = (nodes: readonly NodeProcess[], target?: 'well' | 'down') =>
  Promise.all(nodes.map((node) => node.ask('report', target)))

const all = async (nodes: readonly NodeProcess[], isSo: (report: Report) => boolean) =>
  (await ask(nodes)).every(isSo)

/** How many tests were admitted in each epoch of the fleet. */
function admitted(reports: readonly Report[]): Map<string, number> {
  const epochs = new Map<string, number>()
  for (const token of reports.flatMap(({ tokens }) => tokens)) {
    const [epoch = ''] = token.split(':')
    epochs.set(epoch, (epochs.get(epoch) ?? 0) + 1)
  }
  return epochs
}

describe.skipIf(missing !== undefined)('five processes', () => {
  beforeAll(async () => {
    code = await bundle()
  })
  afterAll(() => code?.remove())

  it('test a target together, whatever happens to Redis and to them, and end in one state', async () => {
    const { server, nodes } = await fleet('state')
    const faults = [
      async () => {},
      async () => {
        await server.kill()
        await until(() => all(nodes, ({ connected }) => !connected))
        await server.up()
      },
      async () => {
        server.signal('SIGSTOP')
        await until(() => all(nodes, ({ connected }) => !connected))
        server.signal('SIGCONT')
      },
      async () => {
        await nodes[4]?.kill()
        nodes[4] = await NodeProcess.start(code.url, server.url, 'n4', 'state')
      },
    ]
    for (const fault of faults) {
      await ask(nodes, 'down')
      await until(() => all(nodes, ({ state }) => state !== 'closed'))
      await fault()
      await until(() => all(nodes, ({ connected }) => connected))
      await ask(nodes, 'well')
      await until(() => all(nodes, ({ state, fleetOpen }) => state === 'closed' && !fleetOpen))
    }
    const reports = await ask(nodes)
    expect(new Set(reports.map(({ epoch }) => epoch)).size).toBe(1)
    const epochs = admitted(reports)
    expect(epochs.size).toBeGreaterThan(0)
    expect(Math.max(...epochs.values())).toBeLessThanOrEqual(2)
    expect(reports.flatMap(({ strange }) => strange)).toEqual([])
  })

  it('leave a node alone whose own network is broken, with `quorum`', async () => {
    const { nodes } = await fleet('quorum')
    const [bad, ...good] = nodes as [NodeProcess, ...NodeProcess[]]
    await until(() => all(nodes, ({ calls }) => calls > 20))
    await bad.ask('report', 'down')
    // It opens, and fails its own tests again and again.
    await until(async () => (await bad.ask('report')).refused > 50)
    const reports = await ask(good)
    expect(reports.map(({ state, refused, fleetOpen }) => [state, refused, fleetOpen])).toEqual(
      good.map(() => ['closed', 0, false]),
    )
    await bad.ask('report', 'well')
    await until(async () => (await bad.ask('report')).state === 'closed')
    // What all of them see is another matter.
    await ask(nodes, 'down')
    await until(() => all(nodes, ({ fleetOpen }) => fleetOpen))
  })
})
