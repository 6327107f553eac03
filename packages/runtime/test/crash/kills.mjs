// Kills thousands of processes and checks their stores: everything that was acknowledged is there, and nothing is recorded as
// completed twice. Groups of processes work on one store in files, SQLite or PostgreSQL and are killed together or one by one, in
// every phase: while they open the store, add, lease, settle and delete entries, and close the store. The folders are in memory
// where that is possible, and PostgreSQL does not flush (fsync=off), because only processes are killed: never the machine, and never
// the database server.
//
//     node packages/runtime/test/crash/kills.mjs [kills] [minutes] [seed]
//
// It ends after so many kills, prints its progress, and writes a summary to .cache/crash-kills.json. A run that ends before, because
// of a signal or after so many minutes, is not complete: it writes no summary, and its exit code is not 0.
// `npm run report:crash` writes the summary to docs/trust.md.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../../scripts/packages.mjs'
import { PostgresServer } from '../../../../scripts/servers/postgres.mjs'
import { buildPrograms, LAUNCHER, POSTGRES_OPTIONS } from './programs.mjs'
import { seeded } from './random.mjs'
import { endRun } from './summary.mjs'

const [wanted = '10000', minutes = '240', given = String(randomInt(2 ** 31))] = process.argv.slice(2)
const TARGET = Number(wanted)
const random = seeded(Number(given))
const root = fileURLToPath(new URL('../../../..', import.meta.url))

const STORES = /** @type {const} */ (['files', 'sqlite', 'postgres'])
/** @typedef {(typeof STORES)[number]} StoreName */
/** How many locations there are at a time, and how many processes work on each at most. */
const LOCATIONS = 6
const MAX_GROUP = 4
/** The part of the groups whose processes are killed at the same instant, in place of each at its own moment. */
const KILLED_TOGETHER = 0.5
/** After this many kills a location is checked completely and replaced, so that opening it stays fast. */
const KILLS_PER_LOCATION = 50
/** After this many kills the acknowledged entries are read. */
const KILLS_PER_CHECK = 12
/** How many entries a process can add. Most processes are killed before they have added them. */
const MAX_ENTRIES = 200
const PROCESS_PRIORITY = 5
/** A process that is neither killed nor ended after this time is a problem. */
const PROCESS_TIMEOUT_MS = 120_000
const PROGRESS_MS = 15_000

/** @typedef {'starting' | 'opening' | 'working' | 'deleting' | 'closing'} Phase */
/**
 * The phases in which processes are killed, and for which part of them. `steps` limits the work of those that are killed later.
 *
 * @type {readonly { phase: Phase, share: number, steps?: number }[]}
 */
const MOMENTS = [
  { phase: 'starting', share: 0.04 },
  { phase: 'opening', share: 0.2 },
  { phase: 'working', share: 0.56 },
  { phase: 'deleting', share: 0.1, steps: 2 },
  { phase: 'closing', share: 0.1, steps: 2 },
]
/** A process that works is killed after this many acknowledgements and milliseconds at most. */
const MAX_ACKNOWLEDGEMENTS = 24
const MAX_WORK_MS = 4
/** Another process is killed within the usual duration of its phase, which depends on the machine, and this many times it at most. */
const MAX_DURATIONS = 1.2

function drawMoment() {
  let draw = random()
  const { phase, steps } = MOMENTS.find(({ share }) => (draw -= share) < 0) ?? { phase: 'working' }
  return {
    phase,
    steps,
    acknowledgements: phase === 'working' ? Math.ceil(random() * MAX_ACKNOWLEDGEMENTS) : 0,
    /** The part of the longest delay after which the process is killed. */
    part: random(),
  }
}

/** The usual durations of the phases, by store and phase: a moving average. @type {Map<string, number>} */
const usualMs = new Map()
const FIRST_USUAL_MS = 50
/** @param {string} key @param {number} ms */
const recordDuration = (key, ms) => usualMs.set(key, 0.9 * (usualMs.get(key) ?? ms) + 0.1 * ms)

mkdirSync(join(root, '.cache'), { recursive: true })
// The programs are in the workspace, where the packages that they import are found.
const made = mkdtempSync(join(root, '.cache/crash-'))
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-crash-'))
/** @type {Set<StoreProcess>} */
const running = new Set()
process.on('exit', () => {
  for (const each of running) each.kill()
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true })
})
await build({
  stdin: {
    contents: `export { filesStore } from './packages/store/src/files/index.js'
      export { openSqlite } from './packages/store/src/sqlite/index.js'
      export { openPostgres } from './packages/store/src/postgres/index.js'
      export { systemClock } from 'holdfast/internal'`,
    resolveDir: root,
  },
  outfile: join(made, 'checks.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  external: ['libsql', 'pg'],
  alias: sourceAliases,
  logLevel: 'error',
})
const { filesStore, openSqlite, openPostgres, systemClock } = await import(
  pathToFileURL(join(made, 'checks.mjs')).href
)
// The connections of killed processes end later.
const server = await PostgresServer.start({ max_connections: '300' })
const programs = await buildPrograms(made, server.url)

/** What each store has acknowledged, and how many acknowledged entries were read after kills. */
const counts = {
  files: { kills: 0, acknowledged: 0, completed: 0, checked: 0 },
  sqlite: { kills: 0, acknowledged: 0, completed: 0, checked: 0 },
  postgres: { kills: 0, acknowledged: 0, completed: 0, checked: 0 },
}
/** How many processes were killed in each phase. @type {Record<Phase, number>} */
const killsByPhase = { starting: 0, opening: 0, working: 0, deleting: 0, closing: 0 }
let kills = 0
/** @type {string[]} */
const problems = []
const startedAt = systemClock.now()
const endsAt = startedAt + Number(minutes) * 60_000
const isOver = () => kills >= TARGET || systemClock.now() >= endsAt || problems.length > 0

/** A process that works on the store of a location until it is killed. */
class StoreProcess {
  /** @type {Phase} */
  phase = 'starting'
  phaseStartedAt = systemClock.now()
  acknowledgements = 0
  output = ''
  /** @type {unknown} */
  timer = undefined

  /**
   * @param {Location} location
   * @param {ReturnType<typeof drawMoment>} moment
   * @param {() => void} onMoment called when it is to be killed
   */
  constructor(location, moment, onMoment) {
    this.location = location
    this.moment = moment
    this.onMoment = onMoment
    const number = location.started++
    // The first processes also create the store.
    this.kind = `${location.store} ${location.kills === 0 ? 'new' : 'existing'}`
    this.name = `${location.name}_${number}`
    const options = {
      name: this.name,
      seed: Math.floor(random() * 2 ** 31),
      entries: MAX_ENTRIES,
      hour: number,
      concurrency: 1 + Math.floor(random() * 6),
      steps: moment.steps,
    }
    this.child = spawn(
      process.execPath,
      [LAUNCHER, location.drawProgram(), location.path, location.spillDir, JSON.stringify(options)],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    // Lower than that of this process, so that no kill is late.
    if (this.child.pid !== undefined) setPriority(this.child.pid, PROCESS_PRIORITY)
    running.add(this)
    const timeout = systemClock.setTimer(() => {
      problems.push(`${this.name} did not end, phase ${this.phase}: ${this.output}`)
      this.kill()
    }, PROCESS_TIMEOUT_MS)
    this.child.stderr.on('data', (data) => {
      this.output += data
    })
    createInterface({ input: this.child.stdout }).on('line', (line) => this.onLine(line))
    /** @type {Promise<void>} */
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        systemClock.clearTimer(timeout)
        systemClock.clearTimer(this.timer)
        running.delete(this)
        if (code === 0) this.endPhase()
        if (signal === 'SIGKILL') {
          kills++
          location.kills++
          location.counts.kills++
          killsByPhase[this.phase]++
        } else if (code !== 0) problems.push(`${this.name} ended with ${code ?? signal}: ${this.output}`)
        resolve()
      })
    })
    this.checkMoment()
  }

  /** A line is the name of the next phase, or an acknowledgement and the id of its entry. @param {string} line */
  onLine(line) {
    const [what, id] = line.split(' ')
    if (id === undefined) {
      this.endPhase()
      this.phase = /** @type {Phase} */ (what)
      this.phaseStartedAt = systemClock.now()
    } else {
      this.acknowledgements++
      this.location.onAcknowledgement(/** @type {string} */ (what), id)
    }
    this.checkMoment()
  }

  endPhase() {
    recordDuration(`${this.kind} ${this.phase}`, systemClock.now() - this.phaseStartedAt)
  }

  checkMoment() {
    const { phase, acknowledgements, part } = this.moment
    if (this.timer !== undefined || this.phase !== phase || this.acknowledgements < acknowledgements) return
    const usual = usualMs.get(`${this.kind} ${phase}`) ?? FIRST_USUAL_MS
    const maxMs = phase === 'working' ? MAX_WORK_MS : MAX_DURATIONS * usual
    this.timer = systemClock.setTimer(this.onMoment, part * maxMs)
  }

  kill() {
    this.child.kill('SIGKILL')
  }
}

/** A time after all leases. */
const END = new Date(Date.UTC(2027, 0, 1))

/** All entries of a store by their ids. @param {any} store @returns {Promise<Map<string, any>>} */
async function readEntries({ deadLetters }) {
  const entries = new Map()
  /** @type {string | undefined} */
  let cursor
  do {
    const page = await deadLetters.list({ limit: 500, cursor }, END)
    for (const entry of page.items) entries.set(entry.dlqId, entry)
    cursor = page.cursor
  } while (cursor !== undefined)
  return entries
}

/** A store, and what it has acknowledged. */
class Location {
  /** @type {Set<string>} */
  added = new Set()
  /** @type {Map<string, number>} */
  completed = new Map()
  /** The entries whose deletion was started, and those whose deletion was acknowledged. @type {Set<string>} */
  purging = new Set()
  /** @type {Set<string>} */
  purged = new Set()
  /** What was acknowledged since the last check. @type {Set<string>} */
  unchecked = new Set()
  kills = 0
  started = 0

  /** @param {StoreName} store @param {string} name */
  constructor(store, name) {
    this.store = store
    this.name = name
    this.counts = counts[store]
    this.folder = join(folder, name)
    mkdirSync(this.folder)
    /** The folder of the entries that PostgreSQL does not accept in time. */
    this.spillDir = join(this.folder, 'spill')
    this.path = {
      files: join(this.folder, 'store'),
      sqlite: join(this.folder, 'store.db'),
      postgres: `${server.url}?schema=${name}`,
    }[store]
  }

  createStore() {
    if (this.store === 'files') return filesStore(this.path)
    if (this.store === 'sqlite') return openSqlite(this.path)
    return openPostgres(this.path, { ...POSTGRES_OPTIONS, spillDir: this.spillDir, warn: () => {} })
  }

  drawProgram() {
    return programs[this.store === 'sqlite' && random() < 0.5 ? 'sqliteThread' : this.store]
  }

  /** @param {string} what @param {string} id */
  onAcknowledgement(what, id) {
    if (what === 'purging') this.purging.add(id)
    if (what === 'purged') this.purged.add(id)
    if (what === 'added') {
      this.added.add(id)
      this.counts.acknowledged++
    }
    if (what === 'completed') {
      this.completed.set(id, (this.completed.get(id) ?? 0) + 1)
      this.counts.completed++
    }
    this.unchecked.add(id)
  }

  /** Starts some processes and kills them, together or one by one. */
  async killGroup() {
    const size = 1 + Math.floor(random() * MAX_GROUP)
    const common = random() < KILLED_TOGETHER ? drawMoment() : undefined
    /** @type {StoreProcess[]} */
    const group = []
    for (let i = 0; i < size; i++) {
      const victims = () => (common === undefined ? [started] : group)
      const started = new StoreProcess(this, common ?? drawMoment(), () => {
        for (const each of victims()) each.kill()
      })
      group.push(started)
    }
    await Promise.all(group.map(({ ended }) => ended))
  }

  /** Opens the store in this process, as the first one after the kills. @param {(store: any) => Promise<void>} work */
  async withStore(work) {
    const store = this.createStore()
    await store.open()
    await work(store)
    await store.close()
  }

  /**
   * Reads all entries, and checks those that were acknowledged.
   *
   * @param {any} store
   * @param {Iterable<string>} processedIds the entries of which it is also checked whether they are recorded as processed
   * @param {boolean} areAllCompleted
   */
  async check(store, processedIds, areAllCompleted) {
    const entries = await readEntries(store)
    for (const id of this.added) {
      // An entry that PostgreSQL did not accept in time is on the disk, and not in lists.
      const entry =
        entries.get(id) ?? (this.purging.has(id) ? undefined : await store.deadLetters.get(id, END))
      this.counts.checked++
      this.checkEntry(id, entry, areAllCompleted || this.completed.has(id))
    }
    await Promise.all(
      Array.from(processedIds, async (id) => {
        const isProcessed = await store.deadLetters.isProcessed(id)
        const isCompleted = this.purging.has(id) || entries.get(id)?.status === 'completed'
        if (isProcessed !== isCompleted)
          problems.push(`${id}: completed is ${isCompleted}, recorded as processed is ${isProcessed}`)
      }),
    )
  }

  /** @param {string} id @param {any} entry @param {boolean} mustBeCompleted */
  checkEntry(id, entry, mustBeCompleted) {
    if (entry === undefined) {
      if (!this.purging.has(id)) problems.push(`${id} was acknowledged and is not there`)
      return
    }
    const { status, originalPayload: payload } = entry
    if (payload.id !== id || payload.text !== 'x'.repeat(payload.size))
      problems.push(`${id} has another payload`)
    if (this.purged.has(id)) problems.push(`${id} was deleted and is there`)
    if (mustBeCompleted && status !== 'completed') problems.push(`${id} is ${status}, expected completed`)
  }

  /** Kills groups of processes one after another until this location has had enough of them. */
  async killProcesses() {
    let checkedKills = 0
    while (this.kills < KILLS_PER_LOCATION && !isOver()) {
      await this.killGroup()
      if (this.kills < checkedKills + KILLS_PER_CHECK) continue
      checkedKills = this.kills
      const ids = [...this.unchecked]
      this.unchecked.clear()
      await this.withStore((store) => this.check(store, ids, false))
    }
  }

  /** Completes everything, checks all entries and deletes them. */
  async finish() {
    await this.withStore(async (store) => {
      const { deadLetters } = store
      const entries = await readEntries(store)
      // Moves an entry that PostgreSQL did not accept in time from the disk to the database.
      for (const id of this.added)
        if (!entries.has(id) && !this.purging.has(id)) await deadLetters.request(id, END)
      const want = { statuses: ['pending', 'failed'], limit: 100 }
      for (let size = Infinity; size > 0; ) {
        const leased = await deadLetters.leaseNext(want, 'last', new Date(END.getTime() + 60_000), END)
        size = leased.length
        await Promise.all(
          leased.map(async (/** @type {{ dlqId: string }} */ { dlqId }) => {
            const settled = await deadLetters.settle(dlqId, 'last', { status: 'completed', at: END })
            if (settled !== undefined) this.onAcknowledgement('completed', dlqId)
          }),
        )
      }
      await this.check(store, this.added, true)
    })
    for (const [id, times] of this.completed)
      if (times > 1) problems.push(`${id} was recorded as completed ${times} times`)
    if (this.store === 'postgres') await server.admin(`DROP SCHEMA IF EXISTS ${this.name} CASCADE`)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

let locations = 0
/** Kills processes on one location after another. */
async function killOnLocations() {
  while (!isOver()) {
    const number = locations++
    const store = /** @type {StoreName} */ (STORES[number % STORES.length])
    const location = new Location(store, `l${number}_${store}`)
    await location.killProcesses()
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
// The processes and the database may have received the signal too, so that their stores are not checked.
for (const [signal, exitCode] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
]))
  process.once(signal, () => {
    console.error(`stopped by ${signal} after ${kills} of ${TARGET} kills; no summary was saved`)
    process.exit(exitCode)
  })
await Promise.all(Array.from({ length: LOCATIONS }, killOnLocations))
systemClock.clearTimer(progressTimer)
await server.remove()

const summary = {
  cores: availableParallelism(),
  minutes: Math.round((systemClock.now() - startedAt) / 6000) / 10,
  wantedKills: TARGET,
  kills,
  killsByPhase,
  stores: counts,
  problems,
}
console.log(JSON.stringify(summary, null, 2))
const exitCode = endRun('kills', [wanted, minutes, given], summary, {
  done: kills,
  wanted: TARGET,
  unit: 'kills',
})
console.log(problems.length === 0 ? 'nothing lost, nothing twice' : `${problems.length} problems`)
process.exit(exitCode)
