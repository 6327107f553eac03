// Compares two builds of the core by turns, so that both meet the same machine:
//
//     node bench/compare.mjs OLD NEW [rounds] [part of a row's name]
//
// OLD and NEW are folders of clones in which `npm run build` was run. Each round starts a process for each build and each
// row. A process measures many short batches and reports the tenth percentile, because other work on the machine can only slow a
// batch down. The ratio is the median over all rounds.
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const [oldFolder, newFolder, count = '15', filter = ''] = process.argv.slice(2)

/** @typedef {{ guard: Function, Pool: any, CircuitBreaker: any }} Core */

const BATCH_CALLS = 200
const WARM_UP_BATCHES = 200
const BATCHES = 1500

const TIMEOUTS = { attempt: 5000, total: 60_000 }
const RETRY = { maxAttempts: 3, backoffType: 'immediate', jitterType: 'none' }
const ok = async () => 1
const error = Object.assign(new Error('reset'), { code: 'ECONNRESET' })
const fail = async () => {
  throw error
}

/** Creates the function that a row measures. @type {Record<string, (core: Core) => () => Promise<unknown>>} */
const ROWS = {
  'success, wrap': ({ guard }) => guard({ breaker: {} }).wrap(ok),
  'success, run': ({ guard }) => {
    const one = guard({ breaker: {} })
    return () => one.run(ok)
  },
  'timeouts, wrap': ({ guard }) => guard({ breaker: {}, timeout: TIMEOUTS }).wrap(ok),
  'timeouts, run': ({ guard }) => {
    const one = guard({ breaker: {}, timeout: TIMEOUTS })
    return () => one.run(ok)
  },
  'bulkhead, run': ({ guard }) => {
    const one = guard({ bulkhead: { limit: 10 } })
    return () => one.run(ok)
  },
  'open breaker, run': ({ guard }) => {
    const one = guard({ breaker: {} })
    one.breaker.trip()
    return () => one.run(ok).catch(() => {})
  },
  'three failures, wrap': ({ guard }) => {
    const call = guard({ retry: RETRY }).wrap(fail)
    return () => call().catch(() => {})
  },
  'three failures, run': ({ guard }) => {
    const one = guard({ retry: RETRY })
    return () => one.run(fail).catch(() => {})
  },
  'three failures with a breaker, run': ({ guard }) => {
    const one = guard({ retry: RETRY, breaker: { failureThreshold: 1e9 } })
    return () => one.run(fail).catch(() => {})
  },
  'pool of 1,000, run': ({ guard, Pool }) => {
    const members = Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}`, value: i }))
    const one = guard({ pool: new Pool({ id: 'p', members }) })
    return () => one.run(ok)
  },
}

async function measure(folder, row) {
  const core = await import(pathToFileURL(join(resolve(folder), 'packages/core/dist/index.js')).href)
  const call = ROWS[row](core)
  const batch = async () => {
    const before = process.hrtime.bigint()
    for (let i = 0; i < BATCH_CALLS; i++) await call()
    return Number(process.hrtime.bigint() - before) / BATCH_CALLS
  }
  for (let i = 0; i < WARM_UP_BATCHES; i++) await batch()
  const samples = []
  for (let i = 0; i < BATCHES; i++) samples.push(await batch())
  process.stdout.write(String(samples.toSorted((a, b) => a - b)[BATCHES / 10]))
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

function run(folder, row) {
  const { stdout } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), '--row', folder, row], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return Number(stdout)
}

if (process.argv[2] === '--row') await measure(process.argv[3], process.argv[4])
else {
  console.log('| row | old | new | new ÷ old | spread |\n|---|---:|---:|---:|---|')
  for (const row of Object.keys(ROWS).filter((name) => name.includes(filter))) {
    const pairs = Array.from({ length: Number(count) }, (_, i) => {
      const first = i % 2 === 0
      const a = run(first ? oldFolder : newFolder, row)
      const b = run(first ? newFolder : oldFolder, row)
      return first ? [a, b] : [b, a]
    })
    const ratios = pairs.map(([old, now]) => now / old).toSorted((a, b) => a - b)
    const at = (share) => ratios[Math.round((ratios.length - 1) * share)]?.toFixed(2)
    const ns = (index) => `${Math.round(median(pairs.map((pair) => pair[index])))} ns`
    console.log(`| ${row} | ${ns(0)} | ${ns(1)} | ${at(0.5)} | ${at(0.25)} – ${at(0.75)} |`)
  }
}
