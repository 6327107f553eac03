import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { ProxyServer } from '@holdfast/proxy'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, test } from 'vitest'
import { findFreePort } from '../../../../scripts/servers/ports.mjs'
import { startForwardProxy } from '../../src/cli/services/forward-proxy.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A proxy that answers requests itself: it loses the answers to the first few, and then says which it was. */
async function upstream(lost: number): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer((asked: IncomingMessage, answer) => {
    asked.resume().on('end', () => {
      seen.push(`${asked.method} ${asked.url}`)
      if (seen.length <= lost) asked.socket.resetAndDestroy()
      else answer.end('done')
    })
  })
  return { url: await listening(server), seen }
}

/** A proxy that makes tunnels to wherever it likes, or answers CONNECT with a status. */
async function tunneller(status?: string): Promise<{ url: string; asked: () => number }> {
  let asked = 0
  const server = createServer()
  server.on('connect', (_, socket) => {
    asked++
    socket.on('error', () => {})
    socket.end(`HTTP/1.1 ${status ?? '200 OK'}\r\n\r\n${status === undefined ? 'through the tunnel' : ''}`)
  })
  return { url: await listening(server), asked: () => asked }
}

/** The address of a port that nothing listens on, and that the system gives to no other socket. */
async function closedPort(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`
}

async function forward(
  config: object,
  members: readonly string[],
): Promise<{ hf: Holdfast; proxy: ProxyServer }> {
  const hf = await Holdfast.open({
    config: {
      version: '1.1.0',
      pools: {
        proxies: { strategy: 'round_robin', members: members.map((url, i) => ({ id: `m${i}`, url })) },
      },
      proxy: { port: 0, pool: 'proxies', allowPrivateTargets: true },
      ...config,
    },
    env: {},
    watch: false,
  })
  const proxy = await startForwardProxy(hf)
  closers.push(async () => {
    await proxy.close({ timeout: 1 })
    await hf.close()
  })
  return { hf, proxy }
}

interface Asked {
  method?: string
  headers?: Record<string, string>
}

function ask(proxy: ProxyServer, { method = 'POST', headers = {} }: Asked = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { port: proxy.port, path: 'http://192.0.2.1/pay', method, headers, agent: false },
      (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
    )
    sent.on('error', reject).end(method === 'POST' ? 'pay 5' : undefined)
  })
}

/** Asks for a tunnel; gives all that came back. */
function tunnel(proxy: ProxyServer, headers = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(proxy.port, '127.0.0.1')
    let read = ''
    socket.on('data', (chunk) => (read += chunk.toString()))
    socket.on('error', reject).on('end', () => resolve(read))
    socket.write(`CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\n${headers}\r\n`)
  })
}

const QUICK = { maxAttempts: 3, backoffType: 'immediate' }
const BOLD = { ...QUICK, retryNonIdempotent: true }

describe('a POST through the proxy of a file', () => {
  const lost = async (config: object, headers?: Record<string, string>) => {
    const { url, seen } = await upstream(1)
    const { proxy, hf } = await forward(config, [url])
    return { hf, proxy, seen, status: await ask(proxy, headers === undefined ? {} : { headers }) }
  }

  test('is sent once by a policy without retryNonIdempotent', async () => {
    const { status, seen } = await lost({ policies: { default: QUICK } })
    expect(status).toBe(502)
    expect(seen).toHaveLength(1)
  })

  test('is sent again by a default policy that says retry_non_idempotent', async () => {
    const { status, seen } = await lost({ policies: { default: BOLD } })
    expect(status).toBe(200)
    expect(seen).toHaveLength(2)
  })

  test('is sent again where the defaults of all policies say so', async () => {
    const { status, seen } = await lost({
      globalDefaults: { retryNonIdempotent: true },
      policies: { default: QUICK },
    })
    expect(status).toBe(200)
    expect(seen).toHaveLength(2)
  })

  test('uses the policy of the pool', async () => {
    const { url, seen } = await upstream(1)
    const { proxy } = await forward(
      {
        policies: { default: QUICK, bold: BOLD },
        pools: { proxies: { policy: 'bold', members: [{ id: 'm0', url }] } },
      },
      [],
    )
    expect(await ask(proxy)).toBe(200)
    expect(seen).toHaveLength(2)
  })

  test('uses the policy with the name of the operation', async () => {
    const { status, seen } = await lost({ policies: { default: QUICK, proxy: BOLD } })
    expect(status).toBe(200)
    expect(seen).toHaveLength(2)
  })

  test('uses the policy in its header', async () => {
    const policies = { default: QUICK, bold: BOLD }
    const { status, seen } = await lost({ policies }, { 'x-holdfast-policy': 'bold' })
    expect(status).toBe(200)
    expect(seen).toHaveLength(2)
    const timid = await lost({ policies: { default: BOLD, timid: QUICK } }, { 'x-holdfast-policy': 'timid' })
    expect(timid.status).toBe(502)
    expect(timid.seen).toHaveLength(1)
  })

  test('uses a policy that was changed through the API, from the next request on', async () => {
    const { status, hf, proxy, seen } = await lost({ policies: { default: QUICK } })
    expect(status).toBe(502)
    await hf.policies.put({ id: 'default', ...BOLD } as never, { by: 'ann' })
    seen.length = 0
    expect(await ask(proxy)).toBe(200)
    expect(seen).toHaveLength(2)
  })

  test('is sent again with an Idempotency-Key, and 400 where the policy is not there', async () => {
    const { proxy, status, seen } = await lost({ policies: { default: QUICK } }, { 'idempotency-key': '7' })
    expect(status).toBe(200)
    expect(seen).toHaveLength(2)
    expect(await ask(proxy, { headers: { 'x-holdfast-policy': 'unknown' } })).toBe(400)
    expect(seen).toHaveLength(2)
  })

  test('is sent elsewhere where it provably never left, and what the policy never retries stays so', async () => {
    const { url, seen } = await upstream(0)
    const members = [await closedPort(), url]
    const { proxy } = await forward({ policies: { default: QUICK } }, members)
    expect(await ask(proxy)).toBe(200)
    expect(seen).toHaveLength(1)
    const never = { ...QUICK, abortExceptions: ['ECONNREFUSED'] }
    const strict = await forward({ policies: { default: never } }, [await closedPort(), url])
    expect(await ask(strict.proxy)).toBe(502)
    expect(seen).toHaveLength(1)
  })
})

describe('an answer to a POST', () => {
  test.each([403, 429, 503])('of %s is handed on, though there is another member', async (status) => {
    let asked = 0
    const answering = async () =>
      listening(
        createServer((question, answer) => {
          question.resume().on('end', () => {
            asked++
            answer.writeHead(status).end('told')
          })
        }),
      )
    const members = [await answering(), await answering()]
    const { proxy } = await forward({ policies: { default: QUICK } }, members)
    expect(await ask(proxy)).toBe(status)
    expect(asked).toBe(1)
  })

  test.each(['default', 'pool'])('of 503 is a call that failed, by the policy of the %s', async (where) => {
    const url = await listening(
      createServer((question, answer) => {
        question.resume().on('end', () => answer.writeHead(503, { 'x-own': 'kept' }).end('told'))
      }),
    )
    const pools = { proxies: { policy: where, members: [{ id: 'm0', url }] } }
    const { hf, proxy } = await forward({ policies: { default: QUICK, pool: QUICK }, pools }, [])
    expect(await ask(proxy)).toBe(503)
    expect(await hf.sessions.list({})).toMatchObject({
      items: [
        {
          success: false,
          totalAttempts: 1,
          operation: 'proxy 192.0.2.1',
          finalError: { message: 'the response status was 503' },
        },
      ],
    })
    expect(await hf.errors.list({})).toMatchObject({ items: [{ severity: 'ERROR', httpStatus: 503 }] })
    expect(await hf.metrics.byMember({ hours: 1 })).toMatchObject({
      proxies: { m0: { successCount: 0, failureCount: 1, totalAttempts: 1 } },
    })
  })
})

describe('a tunnel through the proxy of a file', () => {
  const ONCE = { policies: { default: { maxAttempts: 1 }, once: { maxAttempts: 1 } } }

  test('is asked of one member after another until one stands, however few attempts the policy has', async () => {
    const dead = await Promise.all(Array.from({ length: 12 }, closedPort))
    const refusing = ['403 Forbidden', '405 Method Not Allowed', '503 Busy\r\nRetry-After: 30', '407 Who']
    const wrong = await Promise.all(refusing.map((status) => tunneller(status)))
    const good = await tunneller()
    const members = [...dead, ...wrong.map(({ url }) => url), good.url]
    const { proxy } = await forward(ONCE, members)
    expect(await tunnel(proxy)).toMatch(/^HTTP\/1\.1 200 .*through the tunnel$/s)
    expect(wrong.map(({ asked }) => asked())).toEqual([1, 1, 1, 1])
  })

  test('uses exactly the policy in its header', async () => {
    const members = [await closedPort(), (await tunneller()).url]
    const { proxy } = await forward(ONCE, members)
    expect(await tunnel(proxy, 'x-holdfast-policy: once\r\n')).toMatch(/^HTTP\/1\.1 502 /)
  })

  test('is not asked for without end by a policy that has no end', async () => {
    const { url, asked } = await tunneller('405 Not Allowed')
    const { proxy } = await forward({ policies: { default: { maxAttempts: Number.POSITIVE_INFINITY } } }, [
      url,
    ])
    expect(await tunnel(proxy)).toMatch(/^HTTP\/1\.1 502 /)
    expect(asked()).toBe(10)
  })

  test('is refused once all were asked', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => tunneller('500 No')))
    const { proxy } = await forward(
      ONCE,
      all.map(({ url }) => url),
    )
    expect(await tunnel(proxy)).toMatch(/^HTTP\/1\.1 502 /)
    expect(all.map(({ asked }) => asked())).toEqual([1, 1, 1, 1, 1])
  })
})

describe('a proxy with workers', () => {
  test('runs every call by the one runtime: sessions, breakers and policies see all of them', async () => {
    const good = await upstream(0)
    const config = { proxy: { port: 0, pool: 'proxies', allowPrivateTargets: true, workers: 2 } }
    const { hf, proxy } = await forward(config, [await closedPort(), good.url])
    const statuses = await Promise.all(Array.from({ length: 8 }, () => ask(proxy)))
    expect(statuses).toEqual(statuses.map(() => 200))
    expect(good.seen).toHaveLength(8)
    const pool = hf.pools.get('proxies')
    expect(pool.stats('m1').successCount).toBe(8)
    const failed = pool.stats('m0').failureCount
    expect(failed).toBeGreaterThan(0)
    const { items } = await hf.sessions.list({ limit: 20 })
    expect(items.filter(({ attempts }) => attempts.some(({ proxyId }) => proxyId === 'm0'))).toHaveLength(
      failed,
    )
    expect(await ask(proxy, { headers: { 'x-holdfast-policy': 'none' } })).toBe(400)
  })
})
