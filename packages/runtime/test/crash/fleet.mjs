// oxlint-disable holdfast/clock -- processes among others, on real time
// Breaks Redis and the nodes of a fleet at random while they call, and checks what they did: never more probes in an epoch than
// half_open_max, the same state of all nodes at the end, and no call that failed or waited because of Redis.
//
//     node packages/runtime/test/crash/fleet.mjs [processes] [rounds] [seed]
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { helpers } from './helpers.mjs'
import { seeded } from './random.mjs'
import { endRun } from './summary.mjs'

const [processes = '20', rounds = '100', given = String(randomInt(2 ** 31))] = process.argv.slice(2)
const random = seeded(Number(given))
const size = Number(processes)
const { bundle, maxProbesPerEpoch, NodeProcess } = await helpers('processes')
const { RealRedis, missing } = await helpers('redis')
if (missing !== undefined) throw new Error(missing)
const code = await bundle()
const server = await RealRedis.start()
/** @type {string[]} */
const tokens = []
const start = (/** @type {number} */ i) =>
  NodeProcess.start(
    code.url,
    server.url,
    `n${i}`,
    'state',
    (/** @type {string} */ token) => tokens.push(token),
    // The delay between two calls grows with the number of processes, so that a small machine is not overloaded.
    2 * size,
  )
/** @type {any[]} */
const nodes = await Promise.all(Array.from({ length: size }, (_, i) => start(i)))
process.on('exit', () => {
  for (const node of nodes) node.signal('SIGKILL')
  server.signal('SIGKILL')
  code.remove()
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))

const any = () => nodes[Math.floor(random() * size)]
/** @param {string} [target] */
const reports = (target) => Promise.all(nodes.map((node) => node.ask('report', target)))

/** @type {Record<string, () => Promise<unknown>>} */
const faults = {
  async nothing() {},
  async 'Redis killed and started empty'() {
    await server.kill()
    await wait(random() * 500)
    await server.up()
  },
  async 'Redis paused'() {
    server.signal('SIGSTOP')
    await wait(random() * 1500)
    server.signal('SIGCONT')
  },
  async 'Redis flushed'() {
    const client = new Redis(server.url)
    await client.flushall()
    client.disconnect()
  },
  async 'a node killed'() {
    const i = Math.floor(random() * size)
    await nodes[i].kill()
    nodes[i] = await start(i)
  },
  async 'a node paused'() {
    const node = any()
    node.signal('SIGSTOP')
    await wait(random() * 1000)
    node.signal('SIGCONT')
  },
  tripped: () => any().ask('trip'),
  reset: () => any().ask('reset'),
}

/** @type {string[]} */
const problems = []
/** How often each fault happened. @type {Record<string, number>} */
const counts = {}
let slowest = 0
let calls = 0
let finishedRounds = 0
for (let round = 1; round <= Number(rounds); round++) {
  await reports(random() < 0.7 ? 'down' : 'up')
  const names = Object.keys(faults)
  const chosen = Array.from(
    { length: 1 + Math.floor(random() * 2) },
    () => names[Math.floor(random() * names.length)],
  )
  for (const name of chosen) {
    await faults[/** @type {string} */ (name)]?.()
    counts[/** @type {string} */ (name)] = (counts[/** @type {string} */ (name)] ?? 0) + 1
    await wait(random() * 300)
  }
  await reports('up')
  let all = await reports()
  const began = performance.now()
  const settled = () =>
    all.every(({ connected, state, fleetOpen }) => connected && state === 'closed' && !fleetOpen) &&
    new Set(all.map(({ epoch }) => epoch)).size === 1
  while (!settled() && performance.now() - began < 30_000) {
    await wait(50)
    all = await reports()
  }
  if (!settled()) {
    const seen = all.map(
      ({ connected, state, fleetOpen, epoch }) => `${connected}/${state}/${fleetOpen}/${epoch}`,
    )
    problems.push(
      `round ${round} (${chosen.join(', ')}): no common state at the end: ${[...new Set(seen)].join(' ')}`,
    )
  }
  const most = maxProbesPerEpoch(tokens)
  if (most > 2) problems.push(`round ${round} (${chosen.join(', ')}): ${most} probes in one epoch`)
  const unexpected = all.flatMap((report) => report.unexpected)
  if (unexpected.length > 0) problems.push(`round ${round} (${chosen.join(', ')}): ${unexpected[0]}`)
  const waited = all.reduce((sum, report) => sum + report.waited, 0)
  if (waited > 0) problems.push(`round ${round} (${chosen.join(', ')}): ${waited} calls waited for Redis`)
  slowest = Math.max(slowest, ...all.map((report) => report.slowest))
  calls = all.reduce((sum, report) => sum + report.calls, 0)
  if (process.stdout.isTTY) process.stdout.write(`\rround ${round} of ${rounds}\r`)
  finishedRounds = round
  if (problems.length > 3) break
}
console.log(
  `${size} processes, ${rounds} rounds, seed ${given}: ${calls} calls of the running processes, ${tokens.length} probes in ` +
    `${new Set(tokens.map((token) => token.split(':')[0])).size} epochs, at most ${maxProbesPerEpoch(tokens)} in one; ` +
    `the slowest call took ${Math.round(slowest)} ms beyond its own wait`,
)
const summary = {
  faults: counts,
  processes: size,
  calls,
  probes: tokens.length,
  epochs: new Set(tokens.map((token) => token.split(':')[0])).size,
  mostProbesInAnEpoch: maxProbesPerEpoch(tokens),
  problems,
}
for (const line of problems) console.log(`PROBLEM ${line}`)
process.exit(
  endRun('fleet', [processes, rounds, given], summary, {
    done: finishedRounds,
    wanted: Number(rounds),
    unit: 'rounds',
  }),
)
