import { connect, createServer } from 'node:net'
import { guard } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { type ProxyGuard, proxyPool } from '../src/index.js'
import { ask, proxyFor } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'
import { closedPort, startChain, startFaulty } from './helpers/upstreams.js'

const retry = { maxAttempts: 4, backoffType: 'immediate' as const }
const policies = { quick: { retry } }
const headers = { 'x-holdfast-policy': 'quick' }
const post = { method: 'POST', body: 'pay 5', headers }

/** A proxy that passes a request on and loses the answer. */
async function startForgetful(): Promise<string> {
  const server = createServer((client) => {
    client.on('error', () => {})
    client.once('data', (data) => {
      const [, host, port] = /http:\/\/([\d.]+):(\d+)/.exec(data.toString()) ?? []
      const target = connect(Number(port), host as string)
      target.on('error', () => {})
      target.end(data)
      target.once('data', () => {
        client.resetAndDestroy()
        target.destroy()
      })
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

describe('a non-idempotent request', () => {
  it('is not retried after it may have arrived', async () => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [await startForgetful(), (await startChain()).url] })
    const proxy = await proxyFor({ pool, policies })
    expect((await ask(proxy, target.url, post)).status).toBe(502)
    expect(target.arrived).toHaveLength(1)
    expect(pool.members().map(({ id }) => pool.stats(id).failureCount)).toEqual([1, 0])
  })

  it.each([403, 429, 500, 503])(
    'is not retried after a response of %s, which the client gets',
    async (status) => {
      const target = await startTarget((_request, response) => {
        response.statusCode = status
        response.end('told')
      })
      const pool = proxyPool({ id: 'p', members: [(await startChain()).url, (await startChain()).url] })
      const proxy = await proxyFor({ pool, policies })
      expect(await ask(proxy, target.url, post)).toMatchObject({ status, body: 'told' })
      expect(target.arrived).toHaveLength(1)
    },
  )

  it.each([403, 429, 503])('gets its first response of %s even if the guard retries', async (status) => {
    const target = await startTarget((_request, response) => {
      response.statusCode = status
      response.end('told')
    })
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url, (await startChain()).url] })
    const own = guard({ pool, retry: { ...retry, retryIf: ({ value }) => value !== undefined } })
    const deaf: ProxyGuard = { run: (fn, { signal } = {}) => own.run(fn, { signal }) }
    const proxy = await proxyFor({ pool, guard: () => deaf })
    expect(await ask(proxy, target.url, post)).toMatchObject({ status, body: 'told' })
    expect(target.arrived).toHaveLength(1)
    expect(pool.members().map(({ id }) => pool.stats(id).failureCount)).toEqual([status === 503 ? 1 : 0, 0])
  })

  it('goes to another member if it was not sent', async () => {
    const target = await startTarget()
    const dead = `http://127.0.0.1:${await closedPort()}`
    const pool = proxyPool({ id: 'p', members: [dead, (await startChain()).url] })
    const got = await ask(await proxyFor({ pool, policies }), target.url, post)
    expect(got).toMatchObject({ status: 200, body: 'POST / pay 5' })
    expect(target.arrived).toHaveLength(1)
  })

  it('is retried with an Idempotency-Key, or with retryNonIdempotent', async () => {
    const target = await startTarget()
    const members = async () => [await startForgetful(), (await startChain()).url]
    const keyed = await proxyFor({ pool: proxyPool({ id: 'p', members: await members() }), policies })
    const key = { ...headers, 'Idempotency-Key': '42' }
    expect((await ask(keyed, target.url, { ...post, headers: key })).status).toBe(200)
    expect(target.arrived.map((one) => one.headers['idempotency-key'])).toEqual(['42', '42'])
    const pool = proxyPool({ id: 'p', members: await members() })
    const proxy = await proxyFor({ pool, policies, retryNonIdempotent: true })
    expect((await ask(proxy, target.url, post)).status).toBe(200)
    expect(target.arrived).toHaveLength(4)
  })

  it('uses retryNonIdempotent of its policy, or of a custom guard', async () => {
    const target = await startTarget()
    const members = async () => [await startForgetful(), (await startChain()).url]
    const named = async (bold: boolean, standard: boolean) => {
      target.arrived.length = 0
      const pool = proxyPool({ id: 'p', members: await members() })
      const said = { quick: { retry: { ...retry, retryNonIdempotent: bold } } }
      const proxy = await proxyFor({ pool, policies: said, retryNonIdempotent: standard })
      return [(await ask(proxy, target.url, post)).status, target.arrived.length]
    }
    expect(await named(true, false)).toEqual([200, 2])
    expect(await named(false, true)).toEqual([502, 1])
    target.arrived.length = 0
    const pool = proxyPool({ id: 'p', members: await members() })
    const own = guard({ pool, retry })
    const given = { run: own.run.bind(own), retryNonIdempotent: async () => true } as ProxyGuard
    const proxy = await proxyFor({ pool, guard: () => given })
    expect((await ask(proxy, target.url, post)).status).toBe(200)
    expect(target.arrived).toHaveLength(2)
  })

  it('does not go to another member after an error in abortOn', async () => {
    const target = await startTarget()
    const dead = `http://127.0.0.1:${await closedPort()}`
    const pool = proxyPool({ id: 'p', members: [dead, (await startChain()).url] })
    const never = { quick: { retry: { ...retry, abortOn: ['ECONNREFUSED'] } } }
    const proxy = await proxyFor({ pool, policies: never })
    expect((await ask(proxy, target.url, post)).status).toBe(502)
    expect(target.arrived).toHaveLength(0)
  })

  it('is sent once by a guard with hedging', async () => {
    const target = await startTarget((_request, response) => void setImmediate(() => response.end('done')))
    const members = [(await startChain()).url, (await startChain()).url]
    const pool = proxyPool({ id: 'p', members })
    const hedging = guard({ pool, retry, hedge: { delay: 0, max: 3 } })
    const proxy = await proxyFor({ pool, guard: () => hedging })
    for (let i = 0; i < 20; i++) await ask(proxy, target.url, { method: 'POST', body: `${i}` })
    const bodies = target.arrived.map(({ body }) => body)
    expect(new Set(bodies).size).toBe(bodies.length)
    expect(bodies).toHaveLength(20)
  })
})

describe('an idempotent request with a body', () => {
  it('is not retried if its body is too large to be kept', async () => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [(await startFaulty('reset')).url, (await startChain()).url] })
    const proxy = await proxyFor({ pool, policies })
    const got = await ask(proxy, target.url, { method: 'PUT', body: 'x'.repeat(200_000), headers })
    expect(got.status).toBe(502)
    expect(target.arrived).toHaveLength(0)
  })

  it('is retried with its whole body', async () => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [(await startFaulty('reset')).url, (await startChain()).url] })
    const proxy = await proxyFor({ pool, policies })
    const got = await ask(proxy, target.url, { method: 'PUT', body: 'x'.repeat(5000), headers })
    expect(got.status).toBe(200)
    expect(target.arrived.map(({ body }) => body.length)).toEqual([5000])
  })
})
