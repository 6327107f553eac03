import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Agent, fetch, ProxyAgent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFetch, type FetchFunction, type FetchTarget } from '../../src/http/index.js'
import { type MemberOutcome, Pool, type PoolOptions } from '../../src/index.js'
import { immediate, nobody, serve } from './server.js'

const undiciFetch = fetch as unknown as FetchFunction

const pooled = (values: FetchTarget[], options: Partial<PoolOptions<FetchTarget>> = {}) =>
  new Pool<FetchTarget>({
    id: 'p',
    members: values.map((value, i) => ({ id: `m${i}`, value })),
    ...options,
  })

describe('createFetch with a pool of origins', () => {
  it('sends the same path and query to another origin', async () => {
    const [a, b] = [await serve(503), await serve()]
    const pool = pooled([{ origin: a.url }, { origin: new URL(b.url) }])
    const response = await createFetch({ pool, retry: immediate })('http://logical.example/x/y?z=1#h')
    expect(await response.text()).toBe('GET /x/y?z=1')
    expect([a.seen.length, b.seen.length]).toEqual([1, 1])
    expect(pool.stats('m0').failureCount).toBe(1)
  })

  it('accepts relative URLs outside of a browser', async () => {
    const server = await serve()
    const response = await createFetch({ pool: pooled([{ origin: server.url }]) })('/x?y')
    expect(await response.text()).toBe('GET /x?y')
  })

  it('accepts Requests with method, headers and body', async () => {
    const [a, b] = [await serve('reset'), await serve()]
    const request = new Request('http://logical.example/x', {
      method: 'PUT',
      body: 'payload',
      headers: { 'x-a': 'b', 'content-type': 'text/x' },
    })
    const pool = pooled([{ origin: a.url }, { origin: b.url }])
    expect(await (await createFetch({ pool, retry: immediate })(request)).text()).toBe('PUT /x payload')
    expect(b.seen[0]?.headers).toMatchObject({ 'x-a': 'b', 'content-type': 'text/x', 'content-length': '7' })
    const empty = new Request('http://logical.example/x', { method: 'DELETE' })
    expect(await (await createFetch({ pool })(empty)).text()).toBe('DELETE /x')
  })

  it('fails over with a POST only after a refused connection', async () => {
    const [a, b] = [await nobody(), await serve()]
    const pool = pooled([{ origin: a }, { origin: b.url }])
    const resilient = createFetch({ pool, retry: immediate })
    const init = { method: 'POST', body: 'pay' }
    expect((await resilient('http://x.example', init)).status).toBe(200)
    expect(b.seen).toHaveLength(1)
    b.acts.push(503)
    pool.drain('m0')
    expect((await resilient('http://x.example', init)).status).toBe(503)
    expect(b.seen).toHaveLength(2)
  })

  it('selects members by session and region', async () => {
    const [a, b] = [await serve(), await serve()]
    const pool = new Pool<FetchTarget>({
      id: 'p',
      strategy: 'region',
      members: [
        { id: 'a', value: { origin: a.url }, region: 'us' },
        { id: 'b', value: { origin: b.url }, region: 'eu' },
      ],
    })
    const resilient = createFetch({ pool })
    for (let i = 0; i < 3; i++) await resilient('/x', { context: { region: 'eu' } })
    expect([a.seen.length, b.seen.length]).toEqual([0, 3])
  })

  it('rejects at once when no member is available', async () => {
    const pool = pooled([{ origin: 'http://a.example' }])
    pool.breaker('m0').trip()
    await expect(createFetch({ pool })('/x')).rejects.toMatchObject({ code: 'POOL_UNAVAILABLE', status: 503 })
  })
})

describe('a member fault of createFetch', () => {
  const memberFaults = [403, 407, 429, 451]

  // 407 is missing because fetch reports it as a network error; that of a proxy is tested below.
  it.each([403, 429, 451])('%d causes a failover', async (status) => {
    const [a, b] = [await serve(status), await serve()]
    const pool = pooled([{ origin: a.url }, { origin: b.url }], { memberFaults })
    expect((await createFetch({ pool, retry: immediate })('/x')).status).toBe(200)
    expect(pool.stats('m0').failureCount).toBe(status === 429 ? 0 : 1)
    expect(pool.status('m0')).toBe(status === 429 ? 'resting' : 'available')
  })

  it('of all members returns the last response and counts against none', async () => {
    const [a, b] = [await serve(403), await serve({ status: 403, body: 'no' })]
    const pool = pooled([{ origin: a.url }, { origin: b.url }], { memberFaults })
    const response = await createFetch({ pool, retry: immediate })('/x')
    expect([response.status, await response.text()]).toEqual([403, 'no'])
    expect([pool.stats('m0').failureCount, pool.stats('m1').failureCount]).toEqual([0, 0])
  })

  it.each([403, 429, 503])('does not cause a second POST: %d', async (status) => {
    const [a, b] = [await serve(status), await serve()]
    const pool = pooled([{ origin: a.url }, { origin: b.url }], { memberFaults, memberFault: () => true })
    const response = await createFetch({ pool, retry: immediate })('/x', { method: 'POST' })
    expect([response.status, b.seen.length]).toEqual([status, 0])
  })

  it('is reported as a value, whatever the status', async () => {
    const seen: MemberOutcome<FetchTarget>[] = []
    const [a, b] = [await serve(503), await serve(404)]
    const pool = pooled([{ origin: a.url }, { origin: b.url }], {
      memberFault: (outcome) => seen.push(outcome) < 0,
    })
    await createFetch({ pool, retry: immediate })('/x')
    expect(seen.map(({ value, statusCode }) => [(value as Response).status, statusCode])).toEqual([
      [503, 503],
      [404, 404],
    ])
  })
})

describe('a pool member of createFetch can have', () => {
  it('its own fetch', async () => {
    const pool = pooled([{ fetch: async (input) => new Response(`mine ${input as string}`) }])
    expect(await (await createFetch({ pool })('http://a.example/x')).text()).toBe('mine http://a.example/x')
  })

  it('its own dispatcher', async () => {
    const server = await serve()
    const sent: string[] = []
    const agent = new Agent()
    onTestFinished(() => agent.destroy())
    const dispatcher = agent.compose((dispatch) => (options, handler) => {
      sent.push(options.path)
      return dispatch(options, handler)
    })
    const pool = pooled([{ dispatcher }])
    const response = await createFetch({ pool, fetch: undiciFetch })(`${server.url}/x`)
    expect([response.status, sent]).toEqual([200, ['/x']])
  })
})

/** A proxy that opens tunnels, or rejects them with a status. */
async function proxy(status?: number): Promise<ProxyAgent> {
  const server = createServer()
  server.on('connect', (request, socket) => {
    socket.on('error', () => {})
    const [host, port] = (request.url ?? '').split(':')
    if (status !== undefined) socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    else {
      const target = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        target.pipe(socket).pipe(target)
      })
      target.on('error', () => socket.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const agent = new ProxyAgent(`http://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(async () => {
    await agent.destroy()
    server.close()
    server.closeAllConnections()
  })
  return agent
}

describe('createFetch with a pool of proxies', () => {
  it.each([407, 403, 502, 503])(
    'leaves one that refuses a tunnel with %d, even for a POST',
    async (status) => {
      const server = await serve()
      const pool = pooled([{ dispatcher: await proxy(status) }, { dispatcher: await proxy() }], {
        memberFaults: [403, 407],
      })
      const resilient = createFetch({ pool, fetch: undiciFetch, retry: immediate })
      const response = await resilient(server.url, { method: 'POST', body: 'pay' })
      expect(await response.text()).toBe('POST / pay')
      expect(server.seen).toHaveLength(1)
      expect(pool.stats('m0').failureCount).toBe(1)
    },
  )

  it('throws the error of fetch when all proxies reject, without credentials', async () => {
    const pool = pooled([{ dispatcher: await proxy(407) }], { memberFaults: [407] })
    const error = await createFetch({ pool, fetch: undiciFetch })('http://a.example').catch((e: unknown) => e)
    expect(error).toBeInstanceOf(TypeError)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret')
  })
})
