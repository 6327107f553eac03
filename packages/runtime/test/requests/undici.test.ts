import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Holdfast } from '../../src/index.js'

const CONFIG = {
  policies: { api: { maxAttempts: 3, backoffType: 'immediate' } },
  circuitBreakers: { shop: { failureThreshold: 1 } },
} as const

/** A server that answers with these statuses in turn. */
async function serve(...statuses: (number | 'hang')[]) {
  const methods: string[] = []
  const server = createServer((incoming, response) => {
    methods.push(incoming.method as string)
    const status = statuses.shift() ?? 200
    if (status !== 'hang') response.writeHead(status).end(`status ${status}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { methods, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function open() {
  const hf = await Holdfast.open({ config: CONFIG, env: {} })
  onTestFinished(() => hf.close())
  return hf
}

describe('hf.undici', () => {
  it('retries requests of a dispatcher by the policy of the operation, and records them', async () => {
    const hf = await open()
    const { origin, methods } = await serve(503, 200)
    const dispatcher = new Agent().compose(hf.undici('api'))
    const { statusCode, body } = await request(origin, { dispatcher })

    expect([statusCode, await body.text()]).toEqual([200, 'status 200'])
    expect(methods).toEqual(['GET', 'GET'])
    expect((await hf.sessions.list()).items).toMatchObject([
      { operation: 'api', success: true, attempts: [{ statusCode: 503 }, { outcome: 'success' }] },
    ])
    await dispatcher.close()
  })

  it('forwards the last response, and does not repeat a POST', async () => {
    const hf = await open()
    const { origin, methods } = await serve(503)
    const dispatcher = new Agent().compose(hf.undici('api'))
    const { statusCode, body } = await request(origin, { dispatcher, method: 'POST', body: 'x' })
    expect([statusCode, await body.text()]).toEqual([503, 'status 503'])
    expect(methods).toEqual(['POST'])
    await dispatcher.close()
  })

  it('takes options: retry of every request, and a service whose breaker rejects requests', async () => {
    const hf = await open()
    const { origin, methods } = await serve(503, 503)
    const dispatcher = new Agent().compose(
      hf.undici('api', { service: 'shop', retry: { maxAttempts: 1, retryNonIdempotent: true } }),
    )
    const { statusCode, body } = await request(origin, { dispatcher })
    await body.dump()
    expect([statusCode, methods.length]).toEqual([503, 1])
    await expect(request(origin, { dispatcher })).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(() => hf.undici('api', { deadLetter: true } as never)).toThrow(/deadLetter/)
    await dispatcher.close()
  })

  it('ends a request that its caller aborts', async () => {
    const hf = await open()
    const { origin, methods } = await serve('hang')
    const dispatcher = new Agent().compose(hf.undici('api'))
    const controller = new AbortController()
    const aborted = request(origin, { dispatcher, signal: controller.signal }).catch((e: unknown) => e)
    await expect.poll(() => methods.length).toBe(1)
    controller.abort()
    expect(await aborted).toMatchObject({ name: 'AbortError' })
    await expect.poll(async () => (await hf.health()).activeSessions).toBe(0)
    await dispatcher.close()
  })
})
