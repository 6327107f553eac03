// `npm run test:planted`: how many planted bugs the simulation finds. Each patch is applied to a copy of the sources, and seeds are
// simulated until one fails.
//
//     npm run test:planted -- --seeds 300                       all patches in the folders of packages/simulation/planted
//     npm run test:planted -- --folder some/folder --only 07     one patch of another folder
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleSimulation } from './bundle.mjs'

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
  const args = [bundle, '--json', '--seeds', values.seeds, '--from', values.from]
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

let foundCount = 0
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
    // The substitute of Redis has no function for a changed script, so all its commands fail and the bug itself is not executed.
    if (/^\+\+\+ .*\.lua$/m.test(readFileSync(join(folder, name), 'utf8'))) {
      console.log(`${title.padEnd(55)} ${'NOT FOUND'.padEnd(10)} the simulation does not execute Lua`)
      continue
    }
    const bundle = join(copy, 'main.mjs')
    await bundleSimulation(copy, bundle)
    const { found, text } = await simulate(bundle)
    if (found) foundCount++
    console.log(`${title.padEnd(55)} ${(found ? 'found' : 'NOT FOUND').padEnd(10)} ${text.slice(0, 160)}`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
console.log(`${foundCount} of ${patches.length} found`)
process.exit(!hasFailed && foundCount / patches.length >= REQUIRED_SHARE ? 0 : 1)
