import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkConfig } from '@holdfast/runtime/config'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { formatDemoConfig } from '../../src/demo/config.js'
import { type Demo, startDemo } from '../../src/demo/demo.js'
import { startTraffic } from '../../src/demo/traffic.js'

const open: (() => unknown)[] = []

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  open.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function start(
  dir: string,
  ports = { port: 0, proxy: { port: 0 } },
): Promise<{ demo: Demo; said: string[] }> {
  const said: string[] = []
  const demo = await startDemo({ dir, warn: (text) => said.push(text), ...ports })
  open.push(() => demo.close())
  return { demo, said }
}

const get = async (demo: Demo, path: string) =>
  (await fetch(`${demo.running.server.url}/api/v1${path}`)).json()

/** Asks until the answer is one that is waited for: traffic is real, and takes its time. */
// oxlint-disable-next-line typescript/no-explicit-any -- what is in an answer is what the caller looks at
async function until(ask: () => Promise<any>, is: (answer: any) => boolean): Promise<any> {
  for (;;) {
    const answer = await ask()
    if (is(answer)) return answer
    await new Promise<void>((resolve) => systemClock.setTimer(resolve, 50))
  }
}

interface Member {
  id: string
  region?: string
  score: number
  total_attempts: number
}

const tried = (members: Member[], id: string): boolean =>
  members.some((member) => member.id === id && member.total_attempts > 0)

const scoreOf = (members: Member[], id: string): number =>
  members.find((member) => member.id === id)?.score ?? 0

describe('the demonstration', () => {
  it('has a valid config file', () => {
    const text = formatDemoConfig({ proxies: [{ id: 'good', region: 'eu', url: 'http://127.0.0.1:1' }] })
    const { problems, warnings } = checkConfig(text, { env: {} })
    expect([problems, warnings]).toEqual([[], []])
  })

  it('produces every kind of event and state, and loses no record when it ends', async () => {
    const dir = folder()
    const { demo } = await start(dir)
    const breaker = (id: string) => () => get(demo, `/circuit-breakers/${encodeURIComponent(id)}`)
    await until(breaker('service:legacy'), ({ state }) => state === 'open')
    // Proxies that are of no use are tried and found out, and the others do the work.
    const { items: members } = await until(
      () => get(demo, '/pools/proxies/members'),
      ({ items }) => tried(items, 'gone') && tried(items, 'banned') && scoreOf(items, 'good') > 0.5,
    )
    expect(members.every((member: Member) => member.region !== undefined)).toBe(true)
    expect(scoreOf(members, 'gone')).toBeLessThan(0.5)
    const { items: changes } = await until(
      () => get(demo, '/audit'),
      ({ items }) => items.length > 0,
    )
    expect(changes.map(({ action }: { action: string }) => action)).toContain('policy.put')
    expect((await get(demo, '/config/history')).items).toHaveLength(1)
    expect((await get(demo, '/errors?limit=1')).items).toHaveLength(1)
    await until(
      () => get(demo, '/sessions?operation=search&limit=1'),
      ({ items }) => items.length > 0,
    )
    await until(
      () => get(demo, '/sessions?operation=weather&success=true&limit=1'),
      ({ items }) => items.length > 0,
    )
    const { total } = await until(
      () => get(demo, '/dead-letters/stats'),
      (stats) => stats.total > 0,
    )
    await demo.close()
    const again = await start(dir)
    expect((await get(again.demo, '/dead-letters/stats')).total).toBeGreaterThanOrEqual(total)
    expect((await get(again.demo, '/sessions?operation=search&limit=1')).items).toHaveLength(1)
    // What was changed once is not changed again at each start.
    expect((await get(again.demo, '/config/history')).items).toHaveLength(1)
  })

  it('leaves a breaker that it came back with as it is, for a while', async () => {
    const clock = fakeClock()
    const resets: string[] = []
    const nothing = async (): Promise<unknown> => undefined
    const hf = {
      run: nothing,
      pipeline: () => ({ run: nothing }),
      deadLetters: { replayBatch: nothing },
      config: { history: async () => [{}] },
      breakers: { reset: async (id: string) => void resets.push(id) },
    } as unknown as Parameters<typeof startTraffic>[0]
    const targets = { weather: '', legacy: '', search: '', catalog: '', proxy: 'http://127.0.0.1:1' }
    const stop = startTraffic(hf, targets, { clock, random: () => 0.5 })
    await clock.advance(19_999)
    expect(resets).toEqual([])
    await clock.advance(1)
    expect(resets).toEqual(['service:legacy'])
    await stop()
  })

  it('reports a port that is in use and tries the next one', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    open.push(() => other.close())
    const { port } = other.address() as AddressInfo
    const { demo, said } = await start(folder(), { port, proxy: { port: 0 } })
    expect(demo.running.server.port).toBeGreaterThan(port)
    expect(said[0]).toContain(`port ${port} of the server is already in use`)
  })
})
