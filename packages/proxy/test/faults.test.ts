import { connect } from 'node:net'
import type { Clock } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { proxyMember, proxyPool } from '../src/index.js'
import { ask, askThroughTunnel, proxyFor, raw } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'
import { turn, until } from './helpers/until.js'
import { closedPort, type Fault, startChain, startFaulty, startSocks } from './helpers/upstreams.js'

const FAULTS: readonly Fault[] = ['stall', 'reset', 'close', 'garbage', 'truncate', 'trickle']
const REFUSALS = [403, 407, 429, 451, 502, 503].map((status) => ({ status }))

const CONNECT_TIMEOUT_MS = 60_000
const ATTEMPT_TIMEOUT_MS = 30_000

/** Whether a member with this fault never completes its response, so that only a timeout ends the attempt. */
const isSilent = (fault: unknown): boolean => fault === 'stall' || fault === 'trickle'

/** A pool whose first member is bad: the first call goes to it. */
async function poolOf(bad: string, breaker = {}, clock: Clock = fakeClock()) {
  const good = await startChain()
  const members = [
    proxyMember(bad, { id: 'bad', connectTimeout: CONNECT_TIMEOUT_MS }),
    proxyMember(good.url, { id: 'good' }),
  ]
  return proxyPool({ id: 'p', members, breaker, clock })
}

const policies = {
  quick: {
    retry: { maxAttempts: 3, backoffType: 'immediate' as const },
    timeout: { attempt: ATTEMPT_TIMEOUT_MS },
  },
}
const headers = { 'x-holdfast-policy': 'quick' }

/** Replaces `setTimeout` until the test ends. */
function useFakeTimeouts(): { advance(ms: number): void } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return { advance: (ms) => void vi.advanceTimersByTime(ms) }
}

describe('a failing member', () => {
  for (const fault of [...FAULTS, ...REFUSALS])
    it(`that responds to a request with ${JSON.stringify(fault)} is replaced by another`, async () => {
      const target = await startTarget()
      const bad = await startFaulty(fault)
      const clock = fakeClock()
      const pool = await poolOf(bad.url, {}, clock)
      const proxy = await proxyFor({ pool, policies, clock })
      const got = ask(proxy, `${target.url}/x`, { headers })
      if (isSilent(fault)) {
        await until(() => bad.asked.length === 1)
        await clock.advance(ATTEMPT_TIMEOUT_MS)
      }
      expect(await got).toMatchObject({ status: 200, body: 'GET /x' })
      expect(bad.asked).toHaveLength(1)
      expect(target.arrived).toHaveLength(1)
      const limited = typeof fault === 'object' && fault.status === 429
      expect(pool.stats('bad').failureCount).toBe(limited ? 0 : 1)
      expect(pool.status('bad')).toBe(limited ? 'resting' : 'available')
    })

  for (const fault of ['stall', 'reset', 'close', 'garbage', 'trickle', ...REFUSALS] as const)
    it(`that responds to CONNECT with ${JSON.stringify(fault)} is replaced by another`, async () => {
      const target = await startTarget()
      const bad = await startFaulty(fault === 'trickle' ? 'stall' : fault)
      const pool = await poolOf(bad.url)
      const proxy = await proxyFor({ pool, policies })
      // The timeout of a connection does not use the injected clock.
      const timers = isSilent(fault) ? useFakeTimeouts() : undefined
      const got = askThroughTunnel(proxy, `${target.url}/x`)
      if (timers !== undefined) {
        await until(() => bad.asked.length === 1)
        timers.advance(CONNECT_TIMEOUT_MS)
      }
      expect(await got).toMatchObject({ status: 200, body: 'GET /x' })
      expect(bad.asked).toEqual([`CONNECT 127.0.0.1:${target.port} HTTP/1.1`])
      expect(pool.stats('good').successCount).toBe(1)
      const limited = typeof fault === 'object' && fault.status === 429
      expect(pool.stats('bad').failureCount).toBe(limited ? 0 : 1)
    })

  it('that refuses connections, or rejects the SOCKS5 password, is replaced by another', async () => {
    const target = await startTarget()
    const socks = await startSocks({ username: 'u', password: 'right' })
    for (const bad of [
      `http://127.0.0.1:${await closedPort()}`,
      `socks5://u:wrong@127.0.0.1:${socks.port}`,
    ]) {
      const proxy = await proxyFor({ pool: await poolOf(bad), policies })
      expect((await ask(proxy, target.url, { headers })).status).toBe(200)
      const tunnels = await proxyFor({ pool: await poolOf(bad), policies })
      expect((await askThroughTunnel(tunnels, target.url)).status).toBe(200)
    }
  })

  it('that responds with 407 does not expose its Proxy-Authenticate header to the client', async () => {
    const bad = await startFaulty({ status: 407, headers: 'Proxy-Authenticate: Basic realm="inner"\r\n' })
    const pool = proxyPool({ id: 'p', members: [bad.url] })
    const proxy = await proxyFor({ pool, policies })
    const got = await ask(proxy, 'http://127.0.0.1:1/', { headers })
    expect(got.status).toBe(502)
    expect(got.headers).not.toHaveProperty('proxy-authenticate')
    const tunnel = await raw(proxy, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(tunnel).toMatch(/^HTTP\/1\.1 502/)
    expect(tunnel).not.toMatch(/inner/)
  })

  it('is not blamed for a 403 of the target', async () => {
    const target = await startTarget((_request, response) => {
      response.statusCode = 403
      response.end('not for you')
    })
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url, (await startChain()).url] })
    const proxy = await proxyFor({ pool, policies })
    expect(await ask(proxy, target.url, { headers })).toMatchObject({ status: 403, body: 'not for you' })
    expect(pool.members().map(({ id }) => pool.stats(id).failureCount)).toEqual([0, 0])
    expect(target.arrived).toHaveLength(2)
  })

  it('that sends more than its Content-Length has the rest removed', async () => {
    const pool = proxyPool({ id: 'p', members: [(await startFaulty('lie')).url] })
    const got = await ask(await proxyFor({ pool, policies }), 'http://127.0.0.1:1/', { headers })
    expect(got).toMatchObject({ status: 200, body: 'good' })
  })

  it('that disconnects during a large response breaks the connection of the client', async () => {
    const target = await startTarget((_request, response) => {
      response.setHeader('content-length', 1_000_000)
      response.write('x'.repeat(100_000), () => response.destroy())
    })
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [(await startChain()).url] }) })
    await expect(ask(proxy, target.url)).rejects.toThrow()
    const chunked = await startTarget((_request, response) => {
      response.write('x'.repeat(100_000), () => response.destroy())
    })
    await expect(ask(proxy, chunked.url)).rejects.toThrow()
  })

  it('is not used by the next calls once its breaker is open', async () => {
    const target = await startTarget()
    const bad = await startFaulty('reset')
    const pool = await poolOf(bad.url, { failureThreshold: 1 })
    const proxy = await proxyFor({ pool, policies })
    for (let i = 0; i < 5; i++) expect((await ask(proxy, target.url, { headers })).status).toBe(200)
    expect(bad.asked).toHaveLength(1)
    expect(pool.status('bad')).toBe('open')
  })
})

describe('a client that disconnects', () => {
  it('ends its request without a failure of the member', async () => {
    const bad = await startFaulty('stall')
    const pool = proxyPool({ id: 'p', members: [proxyMember(bad.url, { id: 'bad' })] })
    const proxy = await proxyFor({ pool, policies: {} })
    for (const head of ['GET http://127.0.0.1:1/', 'CONNECT 127.0.0.1:1']) {
      const client = connect(proxy.port, '127.0.0.1')
      client.write(`${head} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const before = bad.asked.length
      while (bad.asked.length === before) await turn()
      client.destroy()
      const refused = proxy.status().refused
      while (proxy.status().refused === refused) await turn()
    }
    expect(pool.stats('bad')).toMatchObject({ failureCount: 0, totalAttempts: 2 })
  })
})
