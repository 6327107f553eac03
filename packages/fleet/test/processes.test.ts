import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle, mostInOneEpoch, NodeProcess, type Report } from './processes.js'
import { missing, RealRedis, until } from './redis.js'
import { afterwards } from './setup.js'

let code: Awaited<ReturnType<typeof bundle>>

const SIZE = 5

async function fleet(share: string) {
  const server = await RealRedis.start()
  afterwards(() => server.kill())
  const nodes: NodeProcess[] = []
  afterwards(() => Promise.all(nodes.map((node) => node.kill())))
  const tokens: string[] = []
  const start = (name: string) =>
    NodeProcess.start(code.url, server.url, name, share, (token) => void tokens.push(token))
  const names = Array.from({ length: SIZE }, (_, i) => `n${i}`)
  nodes.push(...(await Promise.all(names.map(start))))
  return { server, nodes, tokens, start }
}

const ask = (nodes: readonly NodeProcess[], target?: 'well' | 'down') =>
  Promise.all(nodes.map((node) => node.ask('report', target)))

const all = async (nodes: readonly NodeProcess[], isSo: (report: Report) => boolean) =>
  (await ask(nodes)).every(isSo)

describe.skipIf(missing !== undefined)('five processes', () => {
  beforeAll(async () => {
    code = await bundle()
  })
  afterAll(() => code?.remove())

  it('test a target together, whatever happens to Redis and to them, and end in one state', async () => {
    const { server, nodes, tokens, start } = await fleet('state')
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
        nodes[4] = await start('n4')
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
    expect(new Set(tokens).size).toBe(tokens.length)
    expect(mostInOneEpoch(tokens)).toBeGreaterThan(0)
    expect(mostInOneEpoch(tokens)).toBeLessThanOrEqual(2)
    expect(reports.flatMap(({ strange }) => strange)).toEqual([])
    expect(reports.map(({ waited }) => waited)).toEqual(nodes.map(() => 0))
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
