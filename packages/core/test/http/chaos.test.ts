import { Agent, request, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { resilience } from '../../src/undici/index.js'
import { type Act, immediate, serve } from './server.js'

const CALLS = 200

/** A server that behaves in one of these ways at random. */
async function moody() {
  const random = seededRandom(7)
  const moods: Act[] = [
    200,
    200,
    503,
    429,
    500,
    'reset',
    'truncate',
    { status: 503, body: 'x'.repeat(100_000) },
  ]
  const acts = Array.from({ length: CALLS * 10 }, () => moods[Math.floor(random() * moods.length)] as Act)
  return serve(...acts)
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH'] as const

/** Sends concurrent requests of all kinds, each with a unique number. */
async function storm(
  send: (id: number, method: string) => Promise<{ status: number; read: () => Promise<unknown> }>,
) {
  const ends = { answered: 0, failed: 0 }
  await Promise.all(
    Array.from({ length: CALLS }, async (_, id) => {
      try {
        const { read } = await send(id, METHODS[id % METHODS.length] as string)
        ends.answered++
        await read().catch(() => {})
      } catch {
        ends.failed++
      }
    }),
  )
  return ends
}

/** How often each number arrived, grouped by whether it can arrive more than once. */
function arrivals(seen: readonly { method: string; url: string }[]) {
  const counts = new Map<string, number>()
  for (const { method, url } of seen)
    counts.set(`${method} ${url}`, (counts.get(`${method} ${url}`) ?? 0) + 1)
  const most = (wanted: RegExp) =>
    Math.max(...[...counts].filter(([key]) => wanted.test(key)).map(([, count]) => count))
  return { once: most(/^(POST|PATCH) /), often: most(/^(GET|PUT) /), requests: counts.size }
}

describe('a server that fails in every way receives no request twice that must not be repeated', () => {
  const retry = { ...immediate, maxAttempts: 5 }

  it('from createFetch', async () => {
    const server = await moody()
    const dispatcher = new Agent({ connections: 20 })
    onTestFinished(() => dispatcher.destroy())
    const resilient = createFetch({
      retry,
      fetch: (input, init) => undiciFetch(input as string, { ...init, dispatcher } as object) as never,
    })
    const { answered, failed } = await storm(async (id, method) => {
      const response = await resilient(
        `${server.url}/${id}`,
        method === 'GET' ? { method } : { method, body: 'x' },
      )
      return { status: response.status, read: () => response.text() }
    })
    expect(answered + failed).toBe(CALLS)
    const { once, often, requests } = arrivals(server.seen)
    expect([once, requests]).toEqual([1, CALLS])
    expect(often).toBeGreaterThan(1)
  })

  it('from a dispatcher', async () => {
    const server = await moody()
    const agent = new Agent({ connections: 20 })
    onTestFinished(() => agent.destroy())
    const dispatcher = agent.compose(resilience({ retry }))
    const { answered, failed } = await storm(async (id, method) => {
      const body = method === 'GET' ? null : 'x'
      const answer = await request(`${server.url}/${id}`, { dispatcher, method, body })
      return { status: answer.statusCode, read: () => answer.body.text() }
    })
    expect(answered + failed).toBe(CALLS)
    const { once, often, requests } = arrivals(server.seen)
    expect([once, requests]).toEqual([1, CALLS])
    expect(often).toBeGreaterThan(1)
  })
})
