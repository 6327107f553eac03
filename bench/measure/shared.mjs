// Measures the cost of a fleet: a runtime with and without Redis, and how soon a breaker that opens is open on all nodes.
import { Holdfast } from '@holdfast/runtime'
import { helpers } from '../../packages/runtime/test/crash/helpers.mjs'
import { succeed } from '../work.mjs'
import { succeeding } from './loops.mjs'
import { pairs } from './pairs.mjs'

/** A Redis of its own for `use`. @template T @param {(server: any) => Promise<T>} use */
async function withRedis(use) {
  const { RealRedis } = await helpers('redis')
  const server = await RealRedis.start()
  try {
    return await use(server)
  } finally {
    await server.kill()
  }
}

const config = (/** @type {string | undefined} */ shared) => ({
  policies: { quick: { maxAttempts: 3 } },
  circuitBreakers: { api: {} },
  ...(shared && { shared }),
})

/** Calls through a breaker that is shared, against the same calls through one that is not. */
export async function attached() {
  return withRedis(async ({ url }) => {
    const alone = await Holdfast.open({ config: config(undefined) })
    const together = await Holdfast.open({ config: config(url) })
    const options = { service: 'api' }
    let calls = 0
    const before = together.fleet?.commands ?? 0
    const { ratio, perCall } = await pairs(
      succeeding(() => alone.run('quick', succeed, options)),
      succeeding(() => {
        calls++
        return together.run('quick', succeed, options)
      }),
    )
    const sent = (together.fleet?.commands ?? 0) - before
    await Promise.all([alone.close(), together.close()])
    return { ratio, perCall, commands: [(1000 * sent) / calls] }
  })
}

const NODES = 20
const TRIPS = 25

/** Milliseconds from the moment that a breaker is opened in one process until it is open in each of the others. */
export async function openings() {
  return withRedis(async ({ url }) => {
    const { bundle, NodeProcess } = await helpers('processes')
    const code = await bundle()
    const names = Array.from({ length: NODES }, (_, i) => `n${i}`)
    /** @type {any[]} */
    const nodes = await Promise.all(
      names.map((name) => NodeProcess.start(code.url, url, name, 'quorum', () => {}, NODES)),
    )
    /** @type {number[]} */
    const known = []
    try {
      for (let i = 0; i < TRIPS; i++) {
        const open = Promise.all(nodes.map((node) => node.becomes('open')))
        const closed = nodes.map((node) => node.becomes('closed'))
        await nodes[i % NODES].ask('trip')
        const [first, ...others] = (await open).toSorted((a, b) => a - b)
        for (const at of others) known.push(at - first)
        // Their own tests close it again.
        await Promise.all(closed)
      }
    } finally {
      await Promise.all(nodes.map((node) => node.kill()))
      code.remove()
    }
    known.sort((a, b) => a - b)
    return {
      p50: [known[Math.floor(known.length * 0.5)] ?? 0],
      p99: [known[Math.floor(known.length * 0.99)] ?? 0],
    }
  })
}
