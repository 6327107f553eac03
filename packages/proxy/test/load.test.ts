import { fakeClock } from 'holdfast/testing'
import { Server as ChainServer } from 'proxy-chain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { proxyMember, proxyPool } from '../src/index.js'
import { ask, askThroughTunnel, proxyFor } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'
import { turn, until } from './helpers/until.js'
import { startChain, startFaulty } from './helpers/upstreams.js'

const retry = { maxAttempts: 6, backoffType: 'immediate' as const }

/** Runs `count` jobs, `width` at a time. */
async function many(count: number, width: number, job: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await job(next++)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

describe('a proxy under load', () => {
  it('answers every GET and sends no POST twice while its members are killed and restarted', async () => {
    const target = await startTarget(({ method, body }, response) => response.end(`${method} ${body}`))
    const ports: number[] = []
    const servers: ChainServer[] = []
    const start = async (i: number): Promise<void> => {
      const server = new ChainServer({ port: ports[i] ?? 0, host: '127.0.0.1' })
      await server.listen()
      ports[i] = server.port
      servers[i] = server
    }
    for (let i = 0; i < 4; i++) await start(i)
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.close(true)))
    })
    const members = ports.map((port) => proxyMember(`http://127.0.0.1:${port}`))
    const pool = proxyPool({ id: 'p', members, breaker: { failureThreshold: 1000 } })
    const proxy = await proxyFor({ pool, policies: { patient: { retry } } })
    const headers = { 'x-holdfast-policy': 'patient' }
    const statuses: Record<string, number[]> = { GET: [], POST: [] }
    let restarting: Promise<void> | undefined
    await many(600, 24, async (i) => {
      // One of four is down at any time, and each that goes takes its connections with it.
      if (i % 40 === 39 && restarting === undefined) {
        const victim = Math.floor(i / 40) % 4
        restarting = (servers[victim] as ChainServer)
          .close(true)
          .then(() => start(victim))
          .finally(() => {
            restarting = undefined
          })
      }
      const method = i % 2 === 0 ? 'GET' : 'POST'
      const got = await ask(proxy, target.url, {
        method,
        headers,
        ...(method === 'POST' ? { body: `${i}` } : {}),
      })
      statuses[method]?.push(got.status)
      if (got.status === 200 && method === 'POST') expect(got.body).toBe(`POST ${i}`)
    })
    await restarting
    expect(statuses.GET?.length).toBe(300)
    expect(statuses.POST?.length).toBe(300)
    expect(new Set(statuses.GET)).toEqual(new Set([200]))
    const posts = target.arrived.filter(({ method }) => method === 'POST').map(({ body }) => body)
    expect(new Set(posts).size).toBe(posts.length)
    expect(posts.length).toBeGreaterThanOrEqual(statuses.POST?.filter((status) => status === 200).length ?? 0)
    expect((await ask(proxy, target.url)).status).toBe(200)
    expect((await askThroughTunnel(proxy, target.url)).status).toBe(200)
  })

  it('answers every request while half of its members do not respond', async () => {
    const target = await startTarget()
    const good = await Promise.all(Array.from({ length: 4 }, () => startChain()))
    const holes = await Promise.all(Array.from({ length: 4 }, () => startFaulty('stall')))
    const clock = fakeClock()
    const members = [...good, ...holes].map(({ url }) => proxyMember(url, { connectTimeout: '1h' }))
    const pool = proxyPool({
      id: 'p',
      members,
      breaker: { failureThreshold: 1, timeoutDuration: '1h' },
      clock,
    })
    const policies = { patient: { retry, timeout: { attempt: 4000 } } }
    const proxy = await proxyFor({ pool, policies, clock })
    const headers = { 'x-holdfast-policy': 'patient' }
    let running = 0
    let isFinished = false
    const load = many(100, 16, async () => {
      running++
      expect((await ask(proxy, target.url, { headers })).status).toBe(200)
      running--
    }).finally(() => {
      isFinished = true
    })
    const countStalled = (): number => holes.reduce((sum, { asked }) => sum + asked.length, 0)
    // The clock advances only when every running request waits at a member that does not respond, so a slow machine
    // cannot make an attempt at a good member exceed its timeout.
    let expired = 0
    while (!isFinished) {
      await until(() => isFinished || (running > 0 && countStalled() - expired === running))
      expired = countStalled()
      await clock.advance(4000)
    }
    await load
    expect(holes.every(({ asked }) => asked.length > 0)).toBe(true)
    expect(proxy.status().pool?.members).toEqual({ available: 4, open: 4 })
    expect(target.arrived).toHaveLength(100)
  })

  it('leaves no connection or tunnel open afterwards', async () => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url] })
    const proxy = await proxyFor({ pool })
    await many(100, 20, async (i) => {
      if (i % 2 === 0) await ask(proxy, target.url)
      else await askThroughTunnel(proxy, target.url)
    })
    while (proxy.status().connections > 0) await turn()
    expect(proxy.status()).toMatchObject({ requests: 50, tunnels: 50, openTunnels: 0, refused: 0 })
  })
})
