// `npm run test:planted`: how many planted bugs the harness finds. Each patch is applied to a copy of the sources, and seeds are
// simulated until one fails. The contract suites with the real servers are run on the copy if no seed fails, and first if the patch
// changes SQL or Lua.
//
//     npm run test:planted -- --seeds 300                       all patches in the folders of packages/simulation/planted
//     npm run test:planted -- --folder some/folder --only 07     one patch of another folder
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleSimulation, V8_OPTIONS } from './bundle.mjs'
import { changesServerCode, isLuaOnly, keepScriptFunctions, runContractSuites } from './planted-contracts.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: join(root, 'packages/simulation/planted') },
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    // A bug that makes the simulation hang is not found by an invariant, and does not count as found.
    minutes: { type: 'string', default: '15' },
  },
})

/** 28 of 30. */
const REQUIRED_SHARE = 28 / 30

/** Copies everything that a bundle of the sources needs. @param {string} copy */
function copySources(copy) {
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(join(copy, 'scripts'), { recursive: true })
  for (const file of ['tsconfig.base.json', 'scripts/packages.mjs'])
    cpSync(join(root, file), join(copy, file))
  for (const name of readdirSync(join(root, 'packages'))) {
    const from = join(root, 'packages', name)
    for (const part of ['src', 'package.json', 'tsconfig.json'])
      if (existsSync(join(from, part)))
        cpSync(join(from, part), join(copy, 'packages', name, part), { recursive: true })
  }
}

/** Applies a patch to a copy. @param {string} copy @param {string} patch @returns {string | undefined} the problem */
function applyPatch(copy, patch) {
  // A repository of its own, because git ignores patches of folders that the surrounding one ignores.
  spawnSync('git', ['init', '-q'], { cwd: copy })
  const { status, stderr } = spawnSync('git', ['apply', '--whitespace=nowarn', patch], {
    cwd: copy,
    encoding: 'utf8',
  })
  return status === 0 ? undefined : stderr.trim()
}

/**
 * Simulates until a seed fails.
 *
 * @param {string} bundle
 * @returns {Promise<{ found: boolean, text: string }>}
 */
function simulate(bundle) {
  const args = [...V8_OPTIONS, bundle, '--json', '--seeds', values.seeds, '--from', values.from]
  const child = spawn(process.execPath, args, {
    timeout: Number(values.minutes) * 60_000,
    killSignal: 'SIGKILL',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data
    })
  return new Promise((done) =>
    child.on('close', (code, signal) => {
      const lines = output.trim().split('\n')
      const violation = lines.find((line) => line.startsWith('{"seed":'))
      if (signal !== null) return done({ found: false, text: `not ended after ${values.minutes} minutes` })
      if (code === 0) return done({ found: false, text: `${values.seeds} seeds without a violation` })
      if (violation === undefined)
        return done({ found: true, text: lines.find((line) => /Error/.test(line)) ?? lines.at(-1) ?? '' })
      const { seed, violation: text } = JSON.parse(violation)
      done({ found: true, text: `seed ${seed}: ${text}` })
    }),
  )
}

const folder = resolve(values.folder)
const patches = (existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [])
  .filter((name) => name.endsWith('.patch') && basename(name).startsWith(values.only ?? ''))
  .toSorted()
if (patches.length === 0) {
  console.error(`no patches in ${folder}`)
  process.exit(2)
}

/**
 * Searches a bug with the means that execute the changed code.
 *
 * @param {string} copy the patched copy of the sources
 * @param {string} patch the text of the patch
 * @returns {Promise<{ by?: 'seed' | 'contract', text: string }>}
 */
async function search(copy, patch) {
  await keepScriptFunctions(root, copy)
  const isServerCode = changesServerCode(patch)
  if (isServerCode) {
    const { failure } = await runContractSuites(root, copy, patch)
    if (failure !== undefined) return { by: 'contract', text: `contract suite: ${failure}` }
    // Seeds do not execute Lua.
    if (isLuaOnly(patch)) return { text: 'no difference in the contract suite' }
  }
  const bundle = join(copy, 'main.mjs')
  await bundleSimulation(copy, bundle)
  const { found, text } = await simulate(bundle)
  if (found) return { by: 'seed', text }
  const contract = isServerCode ? { isRun: true } : await runContractSuites(root, copy, patch)
  if (contract.failure !== undefined) return { by: 'contract', text: `contract suite: ${contract.failure}` }
  return { text: contract.isRun ? `${text}, no difference in the contract suite` : text }
}

const foundCounts = { seed: 0, contract: 0 }
let hasFailed = false
for (const name of patches) {
  const title = name.slice(0, -'.patch'.length)
  // Inside the repository, so that packages are found.
  const copy = join(root, '.cache/planted', `${process.pid}-${basename(title)}`)
  try {
    copySources(copy)
    const problem = applyPatch(copy, join(folder, name))
    if (problem !== undefined) {
      hasFailed = true
      console.log(`${title.padEnd(55)} does not apply: ${problem}`)
      continue
    }
    const { by, text } = await search(copy, readFileSync(join(folder, name), 'utf8'))
    if (by !== undefined) foundCounts[by]++
    console.log(
      `${title.padEnd(55)} ${(by === undefined ? 'NOT FOUND' : 'found').padEnd(10)} ${text.slice(0, 160)}`,
    )
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
const foundCount = foundCounts.seed + foundCounts.contract
console.log(
  `${foundCount} of ${patches.length} found, ${foundCounts.seed} by seeds and ${foundCounts.contract} by the contract suites`,
)
process.exit(!hasFailed && foundCount / patches.length >= REQUIRED_SHARE ? 0 : 1)
