// What a fleet asks of Redis, for docs/scale.md: node --expose-gc bench/measure/redis.mjs
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { Holdfast } from '@holdfast/runtime'
import { Redis } from 'ioredis'
import { helpers } from '../../packages/runtime/test/crash/helpers.mjs'

const BREAKERS = 5000
const VOTERS = 10
const TRIPS = 200
const ROUNDS = 5

const { RealRedis } = await helpers('redis')
const server = await RealRedis.start()
const admin = new Redis(server.url)

/** What Redis has done and holds so far. */
async function figures() {
  const text = await admin.info()
  const of = (/** @type {string} */ name) => Number(text.match(new RegExp(`^${name}:([\\d.]+)`, 'm'))?.[1])
  return {
    in: of('total_net_input_bytes'),
    out: of('total_net_output_bytes'),
    cpu: (of('used_cpu_user') + of('used_cpu_sys')) * 1e6,
    memory: of('used_memory'),
    at: performance.now(),
  }
}

/** Microseconds of processor time that Redis uses per millisecond without requests. */
let idle = 0

/** @type {any[]} */
let nodes = []
const requests = () => nodes.reduce((sum, hf) => sum + hf.fleet.commands, 0)

/**
 * Measures what `use` costs Redis, divided by `by`. The costs of the measurement and of an idle Redis are subtracted.
 *
 * @param {string} what @param {number} by @param {() => Promise<unknown>} use
 */
async function costs(what, by, use) {
  const sent = requests()
  const [a, b] = [await figures(), await figures()]
  await use()
  const c = await figures()
  c.cpu -= idle * (c.at - b.at)
  const per = (/** @type {keyof typeof a} */ name) => (c[name] - b[name] - (b[name] - a[name])) / by
  console.log(
    `${what}: ${((requests() - sent) / by).toFixed(1)} requests, ${per('in').toFixed(0)} bytes in, ${per('out').toFixed(0)} out, ` +
      `${per('cpu').toFixed(0)} µs of Redis' processor, ${per('memory').toFixed(0)} bytes kept`,
  )
}

/** @param {object} config */
const open = (config) => Holdfast.open({ config: { shared: server.url, ...config }, env: {} })
const named = (/** @type {number} */ count) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`target-${i}`, {}]))

const quiet = await figures()
await wait(2000)
const later = await figures()
idle = (later.cpu - quiet.cpu) / (later.at - quiet.at)
console.log(`idle: ${idle.toFixed(2)} µs of processor a millisecond`)

globalThis.gc?.()
const heap = process.memoryUsage().heapUsed
await costs(`each of ${BREAKERS} breakers that a node begins with`, BREAKERS, async () => {
  nodes = [await open({ node: { heartbeat: 60_000 }, circuitBreakers: named(BREAKERS) })]
})
globalThis.gc?.()
const shared = process.memoryUsage().heapUsed - heap
await nodes[0].close()
nodes = []
globalThis.gc?.()
const before = process.memoryUsage().heapUsed
const alone = await Holdfast.open({ config: { circuitBreakers: named(BREAKERS) }, env: {} })
globalThis.gc?.()
const unshared = process.memoryUsage().heapUsed - before
await alone.close()
const each = (/** @type {number} */ bytes) => Math.round(bytes / BREAKERS)
console.log(`in the process: ${each(shared)} bytes each, ${each(unshared)} where it is not shared`)

const HEARTBEATS = 50
nodes = [await open({ node: { heartbeat: 50 } })]
await costs('a heartbeat', HEARTBEATS, async () => {
  const end = requests() + 2 * HEARTBEATS
  while (requests() < end) await wait(5)
})
await nodes[0].close()

const config = {
  node: { heartbeat: 60_000 },
  circuitBreakers: { api: { failureThreshold: 5, timeoutDuration: 60_000 } },
}
nodes = []
for (let i = 0; i < VOTERS; i++) nodes.push(await open(config))
await costs(`an order to ${VOTERS} nodes, events of all included`, TRIPS, async () => {
  for (let i = 0; i < TRIPS / 2; i++) {
    await nodes[0].breakers.trip('service:api')
    await nodes[0].breakers.reset('service:api')
    await wait(5)
  }
  await wait(300)
})
const broken = async () => {
  throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
}
for (const hf of nodes) for (let i = 0; i < 5; i++) await hf.run('x', async () => i, { service: 'api' })
await costs(`a round in which ${VOTERS} nodes vote, and nothing opens`, ROUNDS, async () => {
  const [, bad] = nodes
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 5; i++) await bad.run('x', broken, { service: 'api', retry: false }).catch(() => {})
    await wait(1200)
    const { breaker } = bad.guard('x', { service: 'api' })
    breaker.follow({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
  }
})
await Promise.all(nodes.map((hf) => hf.close()))
admin.disconnect()
await server.kill()
