import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle, maxProbesPerEpoch, NodeProcess, type Report } from './processes.js'
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

const ask = (nodes: readonly NodeProcess[], target?: 'up' | 'down') =>
  Promise.all(nodes.map((node) => node.ask('report', target)))

const all = async (nodes: readonly NodeProcess[], isTrue: (report: Report) => boolean) =>
  (await ask(nodes)).every(isTrue)

describe.skipIf(missing !== undefined)('five processes', () => {
  beforeAll(async () => {
    code = await bundle()
  })
  afterAll(() => code?.remove())

  it('share probe permits through all faults of Redis and of the processes, and end in one state', async () => {
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
      await ask(nodes, 'up')
      await until(() => all(nodes, ({ state, fleetOpen }) => state === 'closed' && !fleetOpen))
    }
    const reports = await ask(nodes)
    expect(new Set(reports.map(({ epoch }) => epoch)).size).toBe(1)
    expect(new Set(tokens).size).toBe(tokens.length)
    expect(maxProbesPerEpoch(tokens)).toBeGreaterThan(0)
    expect(maxProbesPerEpoch(tokens)).toBeLessThanOrEqual(2)
    expect(reports.flatMap(({ unexpected }) => unexpected)).toEqual([])
    expect(reports.map(({ waited }) => waited)).toEqual(nodes.map(() => 0))
  })

  it('keep a breaker closed that fails on one of them only, with `quorum`', async () => {
    const { nodes } = await fleet('quorum')
    const [bad, ...good] = nodes as [NodeProcess, ...NodeProcess[]]
    await until(() => all(nodes, ({ calls }) => calls > 20))
    await bad.ask('report', 'down')
    // It opens, and its own probes fail repeatedly.
    await until(async () => (await bad.ask('report')).rejected > 50)
    const reports = await ask(good)
    expect(reports.map(({ state, rejected, fleetOpen }) => [state, rejected, fleetOpen])).toEqual(
      good.map(() => ['closed', 0, false]),
    )
    await bad.ask('report', 'up')
    await until(async () => (await bad.ask('report')).state === 'closed')
    // A failure on all of them opens it for the fleet.
    await ask(nodes, 'down')
    await until(() => all(nodes, ({ fleetOpen }) => fleetOpen))
  })
})
