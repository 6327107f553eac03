// Kills processes that work on a store, at random points, and looks at what is left: whatever was acknowledged must be
// there, and nothing may be recorded complete twice.
//
//     node packages/runtime/test/crash/main.mjs files|sqlite|URL [rounds] [entries] [seed]
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { sourceAliases } from '../../../../scripts/packages.mjs'
import { buildSqliteThread } from '../../../store/test/sqlite-thread-build.mjs'
import { seeded } from './random.mjs'

const [place = 'files', rounds = '50', entries = '1000', given = String(randomInt(2 ** 31))] =
  process.argv.slice(2)
const random = seeded(Number(given))
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../../../..')

// The sources themselves, so that nothing stale is tried. It lies where the packages it imports are found.
mkdirSync(join(root, '.cache'), { recursive: true })
const made = mkdtempSync(join(root, '.cache/crash-'))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'))
/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true })
})
await build({
  entryPoints: [join(here, '../../../store/src/open/open-store.ts')],
  outdir: made,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  external: ['libsql', 'zod'],
  alias: sourceAliases,
})
await buildSqliteThread(made)
const bundle = pathToFileURL(join(made, 'open-store.mjs')).href
const urls = { files: `files:${join(folder, 'store')}`, sqlite: `sqlite:${join(folder, 'store.db')}` }
const url = place in urls ? urls[/** @type {'files'} */ (place)] : place
const { openStore } = await import(bundle)

/** What the store has promised: the ids added, and how often each was said to be complete. */
const added = new Set()
/** @type {Map<string, number>} */
const completed = new Map()
/** @type {string[]} */
const problems = []

/**
 * Lets a process work until it has made so many promises, then kills it, which takes it wherever it is by then.
 * @param {number} round @param {number} n @param {number} count @param {number} killAfter
 */
function run(round, n, count, killAfter) {
  const name = `r${round}_${n}`
  const seed = String(Math.floor(random() * 2 ** 31))
  const child = spawn(
    process.execPath,
    [join(here, 'child.mjs'), bundle, url, name, seed, String(count), String(round)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  running.add(child)
  /** @type {string[]} */
  const said = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const [what, id = ''] = line.split(' ')
    said.push(id)
    if (what === 'added') added.add(id)
    if (what === 'completed') completed.set(id, (completed.get(id) ?? 0) + 1)
    if (said.length >= killAfter) child.kill('SIGKILL')
  })
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      if (code !== 0 && signal !== 'SIGKILL') problems.push(`${name} ended with ${code ?? signal}`)
      resolve(said)
    })
  })
}

/** @param {Iterable<string>} ids @param {boolean} all whether every one must be complete */
async function check(ids, all) {
  const store = await openStore(url)
  const now = new Date(Date.UTC(2027, 0, 1))
  for (const id of ids) {
    const entry = await store.deadLetters.get(id, now)
    const processed = await store.deadLetters.isProcessed(id)
    if (entry === undefined) problems.push(`${id} was acknowledged and is not there`)
    else if (entry.originalPayload.id !== id) problems.push(`${id} has another payload`)
    else if (processed !== (entry.status === 'completed'))
      problems.push(`${id} is ${entry.status}, processed ${processed}`)
    else if (entry.status !== 'completed' && (all || completed.has(id)))
      problems.push(`${id} is not complete`)
  }
  await store.close()
}

console.log(`${place}: ${rounds} rounds of ${entries}, seed ${given}`)
let kills = 0
for (let round = 0; round < Number(rounds); round++) {
  const count = Math.ceil(Number(entries) / 2)
  // Some are killed at once, some when they are nearly done.
  const said = await Promise.all([0, 1].map((n) => run(round, n, count, Math.ceil(random() * count * 2))))
  kills += said.length
  await check(new Set(said.flat()), false)
}
await run(Number(rounds), 0, 0, Number.POSITIVE_INFINITY)
await check(added, true)
for (const [id, times] of completed)
  if (times > 1) problems.push(`${id} was recorded complete ${times} times`)

console.log(
  `${kills} processes, ${added.size} entries acknowledged, ${completed.size} completions acknowledged`,
)
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? 'nothing lost, nothing twice' : `${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
