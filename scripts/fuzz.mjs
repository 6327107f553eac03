// `npm run test:fuzz`: runs the fuzz targets of the packages with more cases than `npm test`, and prints the progress.
//
//   npm run test:fuzz -- --targets proxy-requests,config --cases 100000 --seed 7
//
// `--cases` is for each target. `npm run report:fuzz` writes the last run of each target to docs/trust.md.
// A case that fails is shortened and saved in test/fuzz/corpus, where `npm test` runs it from then on.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { findFuzzTargets } from './fuzz-targets.mjs'
import { root, sourceAliases, sourceLoaders } from './packages.mjs'
import { saveFuzzResult } from './report/fuzz-results.mjs'

const CORPUS = join(root, 'test/fuzz/corpus')
const OUTPUT = join(root, '.cache/fuzz')

/** A target whose thread reports nothing for so long hangs. */
const HANG_TIMEOUT_MS = 90_000

/** The longest case that is known after a hang. */
const MAX_CASE_BYTES = 1_000_000

const { values } = parseArgs({
  options: {
    targets: { type: 'string' },
    cases: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    list: { type: 'boolean', default: false },
  },
})
const targets = findFuzzTargets()
const names = values.targets?.split(',') ?? [...targets.keys()]
const cases = Number(values.cases)
const seed = Number(values.seed)
const unknown = names.filter((name) => !targets.has(name))
if (unknown.length > 0 || !Number.isSafeInteger(cases) || !Number.isSafeInteger(seed)) {
  console.error(
    unknown.length > 0
      ? `unknown target ${unknown.join(', ')}; expected ${[...targets.keys()].join(', ')}`
      : 'expected whole numbers for --cases and --seed',
  )
  process.exit(2)
}
if (values.list) {
  console.log([...targets.keys()].join('\n'))
  process.exit(0)
}

/** Bundles a target with the sources of the packages, so that no build is needed. @param {string} file @param {string} name */
async function bundle(file, name) {
  const outfile = join(OUTPUT, `${name}.mjs`)
  await build({
    stdin: {
      contents: `import { target } from ${JSON.stringify(file)}\nimport { runInThread } from './test/fuzz/thread.ts'\nawait runInThread(target)`,
      resolveDir: root,
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    loader: sourceLoaders,
    logLevel: 'error',
    plugins: [
      {
        name: 'packages',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^[^./]/ }, ({ path }) => {
            const source = /** @type {Record<string, string>} */ (sourceAliases)[path]
            return source === undefined ? { external: true } : { path: source }
          }),
      },
    ],
  })
  return outfile
}

/** @param {number} seconds */
const formatDuration = (seconds) =>
  seconds < 60 ? `${Math.ceil(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.ceil(seconds % 60)} s`

/** @typedef {{ done?: number, cases?: number, skipped?: string, failure?: string }} Message */

/** @param {string} name @returns {Promise<Message & { seconds: number }>} */
async function run(name) {
  const outfile = await bundle(/** @type {string} */ (targets.get(name)), name)
  const current = new SharedArrayBuffer(MAX_CASE_BYTES + 4)
  const started = performance.now()
  const worker = new Worker(outfile, {
    workerData: { corpus: CORPUS, cases, seed, current },
    execArgv: ['--enable-source-maps'],
  })
  let printed = started
  return new Promise((resolve) => {
    /** @param {Message} message */
    const finish = (message) => {
      clearTimeout(watchdog)
      void worker.terminate()
      resolve({ ...message, seconds: (performance.now() - started) / 1000 })
    }
    const onHang = () => {
      const [length = 0] = new Uint32Array(current, 0, 1)
      const file = join(CORPUS, name, `hang-${seed}`)
      mkdirSync(join(CORPUS, name), { recursive: true })
      writeFileSync(file, Buffer.from(current, 4, length))
      finish({ failure: `no progress for ${HANG_TIMEOUT_MS / 1000} s; the case was saved as ${file}` })
    }
    const watchdog = setTimeout(onHang, HANG_TIMEOUT_MS)
    worker.on('message', (/** @type {Message} */ message) => {
      if (message.done === undefined) return finish(message)
      watchdog.refresh()
      const now = performance.now()
      if (now - printed < (process.stdout.isTTY ? 1000 : 10_000)) return
      printed = now
      const rate = message.done / ((now - started) / 1000)
      const left = formatDuration((cases - message.done) / rate)
      console.log(
        `${name.padEnd(20)} ${message.done.toLocaleString('en')} of ${cases.toLocaleString('en')} cases, ${Math.round(rate)} per second, ${left} left`,
      )
    })
    worker.on('error', (error) => finish({ failure: error.stack ?? String(error) }))
    worker.on('exit', () => finish({ failure: 'the thread ended without a result' }))
  })
}

console.log(
  `seed ${seed}, ${names.length} targets with ${cases.toLocaleString('en')} cases each: ${(names.length * cases).toLocaleString('en')} cases`,
)
let total = 0
for (const name of names) {
  const { cases: done = 0, skipped, failure, seconds } = await run(name)
  total += done
  if (skipped === undefined) saveFuzzResult(name, { wanted: cases, cases: done, seed, seconds, failure })
  if (failure !== undefined) {
    console.error(`${name.padEnd(20)} FAILED\n${failure}`)
    process.exitCode = 1
  } else if (skipped === undefined)
    console.log(`${name.padEnd(20)} ${done.toLocaleString('en')} cases in ${formatDuration(seconds)}`)
  else {
    // Otherwise a run without nginx or Squid would look like one that tested these targets.
    console.error(`${name.padEnd(20)} SKIPPED: ${skipped}`)
    process.exitCode = 1
  }
}
console.log(`${total.toLocaleString('en')} cases`)
