// Kills thousands of processes and checks their stores: everything that was acknowledged is there, and nothing is recorded as
// completed twice. Processes work on files, SQLite or PostgreSQL and are killed within milliseconds of work, because the start of a
// process is most of the cost of a kill. The folders are in memory where that is possible: SIGKILL does not test the disk.
//
//     node packages/runtime/test/crash/kills.mjs [kills] [minutes] [seed]
//
// It ends after so many kills or minutes, prints its progress, and writes a summary to .cache/crash.json.
// `npm run report:crash` writes the summary to docs/trust.md.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../../scripts/packages.mjs'
import { PostgresServer } from '../../../../scripts/servers/postgres.mjs'
import { buildSqliteThread } from '../../../store/test/sqlite-thread-build.mjs'
import { seeded } from './random.mjs'

const [wanted = '10000', minutes = '240', given = String(randomInt(2 ** 31))] = process.argv.slice(2)
const TARGET = Number(wanted)
const random = seeded(Number(given))
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../../../..')

const STORES = /** @type {const} */ (['files', 'sqlite', 'postgres'])
/** @typedef {(typeof STORES)[number]} StoreName */
/** How many locations there are at a time, and how many processes work on each. */
const LOCATIONS = 2
const WORKERS = 2
/** After this many kills a location is checked completely and replaced, so that opening it stays fast. */
const KILLS_PER_LOCATION = 60
/** After this many kills the acknowledged entries are read. */
const KILLS_PER_CHECK = 20
/** How many entries a process can add. It is killed before it has added them. */
const ENTRIES = 200
/** The largest number of acknowledgements after which a process is killed. */
const MAX_ACKNOWLEDGEMENTS = 30
/** The part of the processes that is killed at a time, also before or while it opens the store, in place of after some work. */
const KILLED_BY_TIME = 0.1
const PROGRESS_MS = 15_000

mkdirSync(join(root, '.cache'), { recursive: true })
// The bundle is in the workspace, where the packages that it imports are found.
const made = mkdtempSync(join(root, '.cache/crash-'))
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-crash-'))
/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true })
})
await build({
  stdin: {
    contents: `export { openStore } from './packages/store/src/open/open-store.js'
      export { systemClock } from 'holdfast/internal'`,
    resolveDir: root,
  },
  outdir: made,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  external: ['libsql', 'pg'],
  alias: sourceAliases,
  logLevel: 'error',
})
await buildSqliteThread(made)
const bundle = pathToFileURL(join(made, 'stdin.mjs')).href
const { openStore, systemClock } = await import(bundle)
const server = await PostgresServer.start()

/** What each store has acknowledged, and how many acknowledged entries were read after kills. */
const counts = Object.fromEntries(STORES.map((name) => [name, { acknowledged: 0, completed: 0, checked: 0 }]))
let kills = 0
/** How many of them worked on each store. @type {Record<StoreName, number>} */
const killsByStore = { files: 0, sqlite: 0, postgres: 0 }
let isStopped = false
/** @type {string[]} */
const problems = []
const startedAt = systemClock.now()
const endsAt = startedAt + Number(minutes) * 60_000
const isOver = () => isStopped || kills >= TARGET || systemClock.now() >= endsAt || problems.length > 0

/** The store of an entry, whose id begins with the name of a process. @param {string} id */
const storeOf = (id) => /** @type {StoreName} */ (id.split('_')[1])
/** @param {string} id */
const countsOf = (id) =>
  /** @type {{ acknowledged: number, completed: number, checked: number }} */ (counts[storeOf(id)])

// As many processes as there are cores can start at a time, because a start is most of the work.
let free = availableParallelism() + 1
/** @type {(() => void)[]} */
const waiting = []
const acquire = async () => {
  if (free > 0) free--
  else await new Promise((resolve) => waiting.push(() => resolve(undefined)))
}
const release = () => {
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
}

/** The stores of some processes, and what they have acknowledged. */
class Location {
  /** @type {Set<string>} */
  added = new Set()
  /** @type {Set<string>} */
  unchecked = new Set()
  /** @type {Map<string, number>} */
  completed = new Map()
  kills = 0
  started = 0

  /** @param {string} name */
  constructor(name) {
    this.name = name
    this.folder = join(folder, name)
    mkdirSync(this.folder)
    /** @type {Record<StoreName, string>} */
    this.urls = {
      files: `files:${join(this.folder, 'store')}`,
      sqlite: `sqlite:${join(this.folder, 'store.db')}`,
      postgres: `${server.url}?schema=${name}`,
    }
  }

  /**
   * Runs one process on one store, and kills it after some acknowledgements or some milliseconds.
   *
   * @param {{ store: StoreName, acknowledgements: number, ms: number, entries: number }} limits
   */
  async run({ store, acknowledgements, ms, entries }) {
    await acquire()
    const name = `${this.name}_${store}_${this.started++}`
    const child = spawn(
      process.execPath,
      [
        join(here, 'child.mjs'),
        bundle,
        this.urls[store],
        name,
        String(Math.floor(random() * 2 ** 31)),
        String(entries),
        String(this.started),
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: this.folder,
        env: { ...process.env, NODE_COMPILE_CACHE: join(made, 'compiled') },
      },
    )
    running.add(child)
    const timer = ms < Infinity ? systemClock.setTimer(() => child.kill('SIGKILL'), ms) : undefined
    let count = 0
    let output = ''
    child.stderr.on('data', (data) => {
      output += data
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [what, id = ''] = line.split(' ')
      count++
      if (what === 'added') {
        this.added.add(id)
        this.unchecked.add(id)
        countsOf(id).acknowledged++
      }
      if (what === 'completed') {
        this.completed.set(id, (this.completed.get(id) ?? 0) + 1)
        this.unchecked.add(id)
        countsOf(id).completed++
      }
      if (count >= acknowledgements) child.kill('SIGKILL')
    })
    await new Promise((resolve) => {
      child.once('close', (code, signal) => {
        if (signal === 'SIGKILL') {
          this.kills++
          kills++
          killsByStore[store]++
        } else if (code !== 0) problems.push(`${name} ended with ${code ?? signal}: ${output}`)
        resolve(undefined)
      })
    })
    running.delete(child)
    systemClock.clearTimer(timer)
    release()
  }

  /** Reads acknowledged entries. Other processes may work on the stores. @param {readonly string[]} ids @param {boolean} areAllCompleted */
  async check(ids, areAllCompleted) {
    for (const name of STORES) {
      const store = await openStore(this.urls[name], { dir: this.folder })
      for (const id of ids) if (storeOf(id) === name) await this.checkEntry(store, id, areAllCompleted)
      await store.close()
    }
  }

  /** @param {any} store @param {string} id @param {boolean} areAllCompleted */
  async checkEntry({ deadLetters }, id, areAllCompleted) {
    const mustBeCompleted = areAllCompleted || this.completed.has(id)
    const isProcessed = await deadLetters.isProcessed(id)
    const entry = await deadLetters.get(id, new Date(Date.UTC(2027, 0, 1)))
    countsOf(id).checked++
    if (entry === undefined) problems.push(`${id} was acknowledged and is not there`)
    else if (entry.originalPayload.id !== id) problems.push(`${id} has another payload`)
    else if (entry.status !== 'completed' && (mustBeCompleted || isProcessed))
      problems.push(`${id} is ${entry.status}, expected completed`)
    else if (mustBeCompleted && !isProcessed)
      problems.push(`${id} is completed and not recorded as processed`)
  }

  /** Kills processes one after another until this location has had enough of them. */
  async killProcesses() {
    while (this.kills < KILLS_PER_LOCATION && !isOver()) {
      const isByTime = random() < KILLED_BY_TIME
      await this.run({
        store: /** @type {StoreName} */ (STORES[this.started % STORES.length]),
        acknowledgements: isByTime ? Infinity : 1 + Math.floor(random() * MAX_ACKNOWLEDGEMENTS),
        ms: isByTime ? random() * 400 : Infinity,
        entries: ENTRIES,
      })
      if (this.kills % KILLS_PER_CHECK === 0 && this.unchecked.size > 0) {
        const ids = [...this.unchecked]
        this.unchecked.clear()
        await this.check(ids, false)
      }
    }
  }

  /** Moves the dead letters that PostgreSQL did not accept in time from the disk to the database. A request of an entry does that. */
  async moveToDatabase() {
    const store = await openStore(this.urls.postgres, { dir: this.folder })
    for (const id of this.added)
      if (storeOf(id) === 'postgres') await store.deadLetters.request(id, new Date(Date.UTC(2026, 0, 1)))
    await store.close()
  }

  /** Lets a process complete everything, checks all entries and deletes them. */
  async finish() {
    await this.moveToDatabase()
    for (const store of STORES)
      await this.run({ store, acknowledgements: Infinity, ms: Infinity, entries: 0 })
    await this.check([...this.added], true)
    for (const [id, times] of this.completed)
      if (times > 1) problems.push(`${id} was recorded as completed ${times} times`)
    await server.admin(`DROP SCHEMA IF EXISTS ${this.name} CASCADE`)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Kills processes on one location after another. @param {number} number */
async function killOnLocations(number) {
  for (let round = 0; !isOver(); round++) {
    const location = new Location(`l${number}r${round}`)
    await Promise.all(Array.from({ length: WORKERS }, () => location.killProcesses()))
    await location.finish()
  }
}

function printProgress() {
  const perMinute = (kills * 60_000) / (systemClock.now() - startedAt)
  const remaining = Math.min((TARGET - kills) / perMinute, (endsAt - systemClock.now()) / 60_000)
  console.log(
    `${kills} of ${TARGET} kills, ${Math.round(perMinute)} per minute, ${Math.ceil(remaining)} min left`,
  )
  progressTimer = systemClock.setTimer(printProgress, PROGRESS_MS)
}

console.log(`${TARGET} kills or ${minutes} minutes, seed ${given}`)
let progressTimer = systemClock.setTimer(printProgress, PROGRESS_MS)
// The first signal ends the run with a summary.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => {
    isStopped = true
  })
await Promise.all(Array.from({ length: LOCATIONS }, (_, number) => killOnLocations(number)))
systemClock.clearTimer(progressTimer)
await server.remove()

const summary = {
  date: new Date(systemClock.wall()).toISOString().slice(0, 10),
  command: `node packages/runtime/test/crash/kills.mjs ${wanted} ${minutes} ${given}`,
  seed: Number(given),
  cores: availableParallelism(),
  minutes: Math.round((systemClock.now() - startedAt) / 6000) / 10,
  wantedKills: TARGET,
  kills,
  killsByStore,
  stores: counts,
  problems,
}
writeFileSync(join(root, '.cache/crash.json'), `${JSON.stringify(summary, null, 2)}\n`)
console.log(JSON.stringify(summary, null, 2))
console.log(problems.length === 0 ? 'nothing lost, nothing twice' : `${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
