import { once } from 'node:events'
import { createServer, get, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Holdfast, type RetryEvent } from '@holdfast/runtime'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { startAll } from '../../src/cli/services/services.js'
import { serve } from '../../src/serve/serve.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A target, and a promise of its first request. */
async function target(listener: RequestListener): Promise<{ url: string; asked: Promise<unknown> }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: once(server, 'request') }
}

async function runtime(): Promise<{ hf: Holdfast; clock: FakeClock; failures: RetryEvent[] }> {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const config = {
    version: '1.1.0',
    policies: { default: { maxAttempts: 1 } },
    proxy: { port: 0, allowPrivateTargets: true },
  }
  const hf = await Holdfast.open({ config, clock, env: {}, watch: false })
  closers.push(() => hf.close())
  const failures: RetryEvent[] = []
  hf.events.on('retry_failure', (event) => void failures.push(event))
  return { hf, clock, failures }
}

const post = (url: string, target: string, signal?: AbortSignal) =>
  fetch(`${url}/api/v1/request`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: target }),
    ...(signal && { signal }),
  })

/** Lets the clock go on until something has happened. */
async function passing<T>(clock: FakeClock, wanted: Promise<T>): Promise<T> {
  let over = false
  const settled = wanted.finally(() => {
    over = true
  })
  settled.catch(() => {})
  while (!over) {
    await clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return settled
}

describe('a request that runs while everything closes', () => {
  test('is answered if it ends in time', async () => {
    const ends: (() => void)[] = []
    const { url, asked } = await target((_, answer) => ends.push(() => answer.end('late')))
    const { hf, failures } = await runtime()
    const running = await startAll(hf, { port: 0, warn: () => {} })
    const answer = post(running.server.url, url)
    await asked
    const closing = running.close()
    await expect(fetch(`${running.server.url}/health/live`)).rejects.toThrow()
    ends[0]?.()
    expect(await (await answer).json()).toMatchObject({ status: 200, body: 'late' })
    await closing
    expect(failures).toEqual([])
  })

  test('is cancelled by the runtime after ten seconds and answered', async () => {
    const { url, asked } = await target(() => {})
    const { hf, clock, failures } = await runtime()
    const running = await startAll(hf, { port: 0, warn: () => {} })
    const answer = post(running.server.url, url)
    await asked
    const closing = running.close()
    const { status, body } = await passing(
      clock,
      answer.then(async (said) => ({ status: said.status, body: await said.json() })),
    )
    expect(status).toBe(503)
    expect(body).toMatchObject({ error: 'CANCELLED' })
    await closing
    expect(failures).toMatchObject([{ context: { stopped: 'cancelled' } }])
  })

  test('is answered by the forward proxy and does not delay the server', async () => {
    const { url, asked } = await target(() => {})
    const { hf, clock, failures } = await runtime()
    const running = await startAll(hf, { port: 0, warn: () => {} })
    const answer = new Promise<number | undefined>((resolve, reject) =>
      get({ port: running.proxy?.port, path: url, agent: false }, ({ statusCode }) => resolve(statusCode)).on(
        'error',
        reject,
      ),
    )
    await asked
    const closing = running.close()
    await expect(fetch(`${running.server.url}/health/live`)).rejects.toThrow()
    expect(await passing(clock, answer)).toBeGreaterThanOrEqual(500)
    await closing
    expect(failures).toMatchObject([{ context: { stopped: 'cancelled' } }])
  })

  test('is cancelled and answered by a server that closes without its runtime', async () => {
    const { url, asked } = await target(() => {})
    const { hf, clock, failures } = await runtime()
    const server = await serve(hf, { port: 0, clock, dashboard: false })
    const answer = post(server.url, url)
    await asked
    const closing = server.close()
    const { status, body } = await passing(
      clock,
      answer.then(async (said) => ({ status: said.status, body: await said.json() })),
    )
    expect(status).toBe(503)
    expect(body).toMatchObject({ error: 'CANCELLED', message: expect.stringContaining('closing') })
    await closing
    expect(failures).toMatchObject([{ error: { message: expect.stringContaining('closing') } }])
  })
})

describe('a client that is connected without a request', () => {
  test('does not delay a close', async () => {
    const { hf, clock } = await runtime()
    // No timeout ends on this clock, because the test does not advance it.
    const server = await serve(hf, { port: 0, clock, dashboard: false })
    const socket = connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    await fetch(`${server.url}/health/live`)
    const gone = once(socket, 'close')
    await server.close()
    await gone
  })
})

describe('a client that disconnects', () => {
  test('cancels its request with a matching error', async () => {
    const { url, asked } = await target(() => {})
    const { hf, failures } = await runtime()
    const server = await serve(hf, { port: 0, dashboard: false })
    closers.push(() => server.close())
    const leaving = new AbortController()
    const answer = post(server.url, url, leaving.signal)
    await asked
    const heard = new Promise((resolve) => hf.events.on('retry_failure', resolve))
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await heard
    expect(failures).toMatchObject([
      {
        context: { stopped: 'aborted' },
        error: { type: 'HoldfastError', message: expect.stringContaining('client') },
      },
    ])
  })
})
