import { createServer as createTls } from 'node:https'
import { Pool } from 'holdfast'
import { Agent, ProxyAgent } from 'undici'
import { describe, expect, it } from 'vitest'
import { createProxyFetch, proxyMember, proxyPool } from '../src/index.js'
import { CERT, KEY } from './helpers/certificate.js'
import { curl, proxyFor } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'
import { closedPort, startChain, startFaulty, startSocks } from './helpers/upstreams.js'

const retry = { maxAttempts: 4, backoffType: 'immediate' as const }

async function startSecure(): Promise<string> {
  const server = createTls({ key: KEY, cert: CERT }, (_request, response) => response.end('secret'))
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `https://localhost:${(server.address() as { port: number }).port}/`
}

describe('createProxyFetch', () => {
  it('uses HTTP and SOCKS5 members with credentials, and returns a Response', async () => {
    const target = await startTarget()
    const credentials = { username: 'u', password: 'hunter2' }
    for (const upstream of [await startChain(credentials), await startSocks(credentials)]) {
      const get = createProxyFetch(proxyPool({ id: 'p', members: [upstream.url] }), { retry })
      const response = await get(`${target.url}/f`, { method: 'POST', body: 'hi' })
      expect(response).toBeInstanceOf(Response)
      expect(await response.text()).toBe('POST /f hi')
      expect(upstream.asked).toHaveLength(1)
      expect(target.arrived.at(-1)?.headers).not.toHaveProperty('proxy-authorization')
    }
  })

  it('uses the url of a member value, not its origin', async () => {
    const target = await startTarget()
    const upstream = await startChain({ username: 'u', password: 'hunter2' })
    const value = { url: upstream.url, origin: new URL(upstream.url).origin }
    const pool = new Pool({ id: 'p', members: [{ id: 'm', value }] })
    const get = createProxyFetch(pool, { retry })
    expect(await (await get(`${target.url}/f`)).text()).toBe('GET /f')
    expect(upstream.asked).toHaveLength(1)
    expect(pool.stats('m')).toMatchObject({ totalAttempts: 1, successCount: 1 })
  })

  it('fails over from bad members, for http and https targets, without exposing a password', async () => {
    const target = await startTarget()
    const secure = await startSecure()
    const members = [
      `http://user:hunter2@127.0.0.1:${await closedPort()}`,
      (await startFaulty({ status: 407 })).url,
      (await startFaulty('garbage')).url,
      (await startChain()).url,
    ]
    const get = createProxyFetch(proxyPool({ id: 'p', members }), { retry })
    expect(await (await get(`${target.url}/`)).text()).toBe('GET /')
    // The certificate is self-signed, so the error proves that the TLS handshake with the target began.
    const error = await get(secure).catch((e: unknown) => e)
    const told = JSON.stringify([String(error), String((error as Error).cause)])
    expect(told).toMatch(/self.signed|SELF_SIGNED/i)
    expect(told).not.toContain('hunter2')
  })

  it('fails over from an https member without a valid TLS handshake, and counts a failure of it', async () => {
    const target = await startTarget()
    const good = await startChain()
    const chosenFirst = {
      strategy: (members: readonly { id: string }[]) => members.find(({ id }) => id === 'bad') ?? members[0],
    }
    const selfSigned = new URL(await startSecure()).port
    for (const port of [selfSigned, new URL(target.url).port]) {
      const bad = proxyMember(`https://127.0.0.1:${port}`, { id: 'bad' })
      const pool = proxyPool({
        id: 'p',
        members: [bad, proxyMember(good.url, { id: 'good' })],
        ...(chosenFirst as object),
      })
      const get = createProxyFetch(pool, { retry })
      expect(await (await get(`${target.url}/x`)).text()).toBe('GET /x')
      expect(pool.stats('bad').failureCount).toBe(1)
    }
  })
})

const hasCurl = await curl('--version').then(
  () => true,
  () => false,
)

describe.skipIf(!hasCurl)('curl', () => {
  it('is served with and without tunnels, through HTTP and SOCKS5 members, with users', async () => {
    const target = await startTarget()
    const secure = await startSecure()
    for (const upstream of [await startChain({ username: 'u', password: 'p' }), await startSocks()]) {
      const pool = proxyPool({ id: 'p', members: [upstream.url], strategy: 'sticky' })
      const users = [{ name: 'ann', password: 'pw' }]
      const proxy = await proxyFor({ pool, users })
      const via = ['--proxy', proxy.url, '--proxy-user', 'ann-session-7:pw']
      expect(await curl(...via, `${target.url}/c`)).toBe('GET /c')
      expect(await curl(...via, '--data', 'x=1', `${target.url}/c`)).toBe('POST /c x=1')
      expect(await curl(...via, '--proxytunnel', `${target.url}/t`)).toBe('GET /t')
      expect(await curl(...via, '--insecure', secure)).toBe('secret')
      const refused = await curl(
        '--proxy',
        proxy.url,
        '--output',
        '/dev/null',
        '--write-out',
        '%{http_code}',
        target.url,
      )
      expect(refused).toBe('407')
    }
  })
})

describe("undici's ProxyAgent", () => {
  it('is served over reused connections', async () => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url] })
    const proxy = await proxyFor({ pool })
    const agent = new ProxyAgent({ uri: proxy.url, proxyTunnel: false })
    const { request } = await import('undici')
    for (let i = 0; i < 5; i++) {
      const { body } = await request(`${target.url}/${i}`, { dispatcher: agent as unknown as Agent })
      expect(await body.text()).toBe(`GET /${i}`)
    }
    expect(proxy.status().requests + proxy.status().tunnels).toBeGreaterThan(0)
    expect(proxy.status().connections).toBeLessThanOrEqual(2)
    await agent.destroy()
  })
})
