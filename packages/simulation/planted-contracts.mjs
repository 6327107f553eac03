// The part of the search for planted bugs that needs real servers. SQL and Lua are executed by PostgreSQL and Redis only, so the
// contract suites, which compare the substitutes with the real servers, are run on a patched copy of the sources.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Everything besides sources that the contract suites load. */
const TEST_FILES = [
  'package.json',
  'vitest.config.ts',
  'scripts',
  'test/setup.ts',
  'packages/store/test',
  'packages/fleet/test',
  'packages/simulation/test',
]

/** The tests of a suite that use a real server. The others test the substitute alone. */
const REAL_SERVER_TESTS = 'compared with a real'

/** More histories than in `npm test`, because a bug may need a rare one. Those of PostgreSQL take longer. */
const HISTORIES = { HISTORIES: '600', POSTGRES_HISTORIES: '60' }

const SUITES = [
  { sources: 'packages/store/', suite: 'packages/simulation/test/substitutes/postgres-contract' },
  { sources: 'packages/fleet/', suite: 'packages/simulation/test/substitutes/redis-contract' },
]

/** The table of the substitute of Redis that names each script by its hash. */
const SCRIPT_TABLE = 'packages/simulation/src/substitutes/redis/scripts/index.ts'

/** The files that a patch changes. @param {string} text @returns {string[]} */
const changedFiles = (text) => [...text.matchAll(/^\+\+\+ (?:b\/)?(\S+)/gm)].map(([, file]) => file ?? '')

/** Whether a patch changes only what a server executes, so that seeds cannot find it. @param {string} patch */
export const isLuaOnly = (patch) => changedFiles(patch).every((file) => file.endsWith('.lua'))

/** Whether a patch changes a statement or a script, so that its contract suite is run first. @param {string} patch */
export const changesServerCode = (patch) =>
  changedFiles(patch).some((file) => file.endsWith('.lua') || file.includes('/postgres/statements/'))

/**
 * The hashes of the scripts of the fleet by their names.
 *
 * @param {string} root
 * @param {string} outfile where to write the bundle, inside the repository
 * @returns {Promise<Map<string, string>>}
 */
async function readScriptHashes(root, outfile) {
  await build({
    entryPoints: [join(root, 'packages/fleet/src/lua/scripts.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    loader: { '.lua': 'text' },
    logLevel: 'warning',
  })
  const scripts = await import(pathToFileURL(outfile).href)
  return new Map(
    Object.entries(scripts)
      .filter(([, script]) => typeof script === 'object')
      .map(([name, { sha }]) => [name, sha]),
  )
}

/**
 * Gives the changed scripts of a copy the functions of the unchanged ones. The substitute has no function for an unknown hash, so
 * otherwise every change would fail, even one that changes no behavior.
 *
 * @param {string} root
 * @param {string} copy
 */
export async function keepScriptFunctions(root, copy) {
  const before = await readScriptHashes(root, join(copy, 'scripts-before.mjs'))
  const after = await readScriptHashes(copy, join(copy, 'scripts-after.mjs'))
  const file = join(copy, SCRIPT_TABLE)
  let table = readFileSync(file, 'utf8')
  for (const [name, sha] of before) table = table.replaceAll(sha, after.get(name) ?? sha)
  writeFileSync(file, table)
}

/** @typedef {{ status: string, title: string, failureMessages: string[] }} TestReport */

/**
 * Runs the contract suites of the packages that a patch changes.
 *
 * @param {string} root
 * @param {string} copy a patched copy of the sources, inside the repository
 * @param {string} patch the text of the patch
 * @returns {Promise<{ isRun: boolean, failure?: string }>} the first difference from the real server, if there is one
 */
export async function runContractSuites(root, copy, patch) {
  const files = changedFiles(patch)
  const suites = SUITES.filter(({ sources }) => files.some((file) => file.startsWith(sources)))
  if (suites.length === 0) return { isRun: false }
  for (const file of TEST_FILES) cpSync(join(root, file), join(copy, file), { recursive: true })
  const failure = await runOnce(root, copy, suites)
  // A busy machine can disturb a real server. The histories have a fixed seed, so a bug fails again.
  const isConfirmed = failure !== undefined && (await runOnce(root, copy, suites)) !== undefined
  return { isRun: true, ...(isConfirmed && { failure }) }
}

/** @param {string} root @param {string} copy @param {typeof SUITES} suites @returns {Promise<string | undefined>} the first failure */
async function runOnce(root, copy, suites) {
  const report = join(copy, 'contract.json')
  rmSync(report, { force: true })
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project=simulation',
    '--reporter=json',
    `--outputFile=${report}`,
    `--testNamePattern=${REAL_SERVER_TESTS}`,
    ...suites.map(({ suite }) => suite),
  ]
  const output = await runProcess(args, copy)
  if (!existsSync(report)) throw new Error(`the contract suites did not run: ${output.slice(-2000)}`)
  /** @type {{ success: boolean, testResults: { message: string, assertionResults: TestReport[] }[] }} */
  const { success, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  if (success) return undefined
  const failed = testResults
    .flatMap((each) => each.assertionResults)
    .find(({ status }) => status === 'failed')
  if (failed === undefined)
    throw new Error(
      `the contract suites did not run: ${testResults.map(({ message }) => message).join('\n')}`,
    )
  return `${failed.title}: ${failed.failureMessages[0]?.replaceAll(/\s+/g, ' ')}`
}

/** @param {string[]} args @param {string} cwd @returns {Promise<string>} */
function runProcess(args, cwd) {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...HISTORIES } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data
    })
  return new Promise((done) => child.on('close', () => done(output)))
}
