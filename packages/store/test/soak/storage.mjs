// Measures the disk space of a store in days of simulated traffic with the default settings, and fails if it exceeds 2 GB.
//
//     npm run test:storage -- [sqlite|files] [days]
//
// 50 calls per second, of which 2 % fail at the first attempt. 9 of 10 of these succeed with the second attempt; the others fail three
// times and become dead letters with a payload of 1 kB, which are replayed and so completed. Calls that succeed at the first
// attempt change only counters. The records are written by the store, and the retention of the runtime runs on a virtual
// clock: once per hour instead of once per minute, so the largest size is a little larger than it would be.
// New records reuse the pages of deleted ones, so the limit does not show that the file shrinks: that is tested by
// packages/runtime/test/store/sqlite-size.test.ts.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases, sourceLoaders } from '../../../../scripts/packages.mjs'
import { buildSqliteThread } from '../sqlite-thread-build.mjs'
import { metricsOfHour, recordsOfCall } from './traffic.mjs'

const [kind = 'sqlite', days = '30'] = process.argv.slice(2)

const CALLS_PER_SECOND = 50
const FAILURE_RATE = 0.02
const DEAD_LETTER_SHARE = 0.1
const MAX_BYTES = 2e9

const STEP_MS = 3_600_000
const HOUR_MS = STEP_MS
const DAY_MS = 24 * HOUR_MS
/** How long metrics are kept: the default of 24 hours, and a day more. */
const METRICS_MS = 48 * HOUR_MS

const root = join(import.meta.dirname, '../../../..')
mkdirSync(join(root, '.cache'), { recursive: true })
const programs = mkdtempSync(join(root, '.cache/storage-'))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-storage-'))
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))
process.on('exit', () => {
  for (const path of [programs, folder]) rmSync(path, { recursive: true, force: true })
})

await build({
  stdin: {
    contents: `export { openStore } from './packages/store/src/open/open-store.ts'
      export { DeadLetterRetention } from './packages/runtime/src/dead-letters/retention.ts'
      export { Housekeeping } from './packages/runtime/src/holdfast/housekeeping.ts'
      export { CONFIG_DEFAULTS } from './packages/config/src/defaults.ts'`,
    resolveDir: root,
  },
  outfile: join(programs, 'main.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  alias: sourceAliases,
  loader: sourceLoaders,
})
await buildSqliteThread(programs)
const { openStore, DeadLetterRetention, Housekeeping, CONFIG_DEFAULTS } = await import(
  pathToFileURL(join(programs, 'main.mjs')).href
)

const START = Date.UTC(2026, 0, 1)
let now = START
const clock = { now: () => now - START, wall: () => now, setTimer() {}, clearTimer() {} }
const store = await openStore(kind === 'files' ? `files:${folder}` : `sqlite:${join(folder, 'holdfast.db')}`)
const retention = new DeadLetterRetention(
  { store, clock, logger: { info() {}, warn() {} } },
  () => CONFIG_DEFAULTS.deadLetters,
  new AbortController().signal,
)
const housekeeping = new Housekeeping(
  { store, clock, warn: (/** @type {string} */ line) => console.error(line) },
  {
    config: () => ({}),
    refreshLayer: undefined,
    saveMetrics: async () => {},
    expireDeadLetters: () => retention.enforce(new Date(now)),
    checkDiskSpace: async () => {},
  },
)

/** The bytes of all files. @returns {number} */
const size = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
    .reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)

/** Writes the records of one step. */
async function writeStep() {
  const count = Math.round((CALLS_PER_SECOND * FAILURE_RATE * STEP_MS) / 1000)
  const calls = Array.from({ length: count }, (_, i) =>
    recordsOfCall(now + (i * STEP_MS) / count, i % Math.round(1 / DEAD_LETTER_SHARE) !== 0),
  )
  await Promise.all([
    store.sessions.append(calls.map(({ session }) => session)),
    store.events.append(calls.flatMap(({ events }) => events)),
    store.errors.append(calls.flatMap(({ errors }) => errors)),
    store.deadLetters.add(
      calls.flatMap(({ deadLetter }) => deadLetter ?? []),
      CONFIG_DEFAULTS.deadLetters,
    ),
  ])
  await store.metrics.save(metricsOfHour(Math.floor(now / HOUR_MS) * HOUR_MS))
}

const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(0)} MB`

let largest = 0
let before = size()
for (let day = 1; day <= Number(days); day++) {
  for (const end = START + day * DAY_MS; now < end; now += STEP_MS) {
    await writeStep()
    largest = Math.max(largest, size())
    await housekeeping.enforceRetention()
    await store.metrics.expire(now - METRICS_MS)
  }
  const after = size()
  const counts = await Promise.all([
    store.sessions.count(),
    store.events.count(),
    store.errors.count(),
    store.deadLetters.stats(new Date(now)).then(({ total }) => total),
  ])
  console.log(
    `day ${day}: ${megabytes(after)} (${megabytes(after - before)} more), ${counts[0]} sessions, ${counts[1]} events, ` +
      `${counts[2]} error records, ${counts[3]} dead letters`,
  )
  before = after
}
await store.close()
console.log(
  `${kind}: ${days} days, ${CALLS_PER_SECOND} calls per second, ${FAILURE_RATE * 100} % fail at first: ` +
    `${megabytes(size() / Number(days))} per day, largest size ${megabytes(largest)}`,
)
process.exitCode = largest <= MAX_BYTES ? 0 : 1
