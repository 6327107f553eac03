// Programs that no npm package contains: on the PATH, else Debian's packages, downloaded and unpacked into `.cache` without
// installing them.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

const APT_OPTIONS = [
  '-qq',
  '-o',
  'Acquire::Retries=1',
  '-o',
  'Acquire::http::Timeout=10',
  '-o',
  'Acquire::https::Timeout=10',
]
const APT_TIMEOUT_MS = 180_000

/** A failed download is not repeated for so long: a run asks once for each test file that needs the program. */
const FAILURE_VALID_MS = 10 * 60_000

/**
 * @typedef {{ file: string, env: NodeJS.ProcessEnv }} Program
 *
 * @typedef {object} DebianProgram
 * @property {string} name of the folder in `.cache`
 * @property {readonly string[]} commands names on the PATH
 * @property {readonly string[]} packages what the program needs besides the libraries of every Debian
 * @property {string} file of the program in the unpacked packages
 * @property {string} versionOption prints the version, to find out whether the program starts
 */

/** @param {string} name */
const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find((file) => existsSync(file))

/** @param {unknown} error */
function describeFailure(error) {
  const { stderr, message } = /** @type {Error & { stderr?: string }} */ (error)
  const lines = (stderr || message).trim().split('\n')
  return lines.filter((line) => line.startsWith('E:')).join(' ') || (lines.at(-1) ?? '')
}

/**
 * Downloads Debian's packages into a folder. A fresh machine has no package lists, and only root may fetch them to where
 * they belong, so a second try fetches them into a folder of its own.
 *
 * @param {string} folder
 * @param {readonly string[]} packages
 */
async function downloadPackages(folder, packages) {
  const apt = (/** @type {string[]} */ ...args) =>
    run('apt-get', [...APT_OPTIONS, ...args], { cwd: folder, timeout: APT_TIMEOUT_MS })
  try {
    await apt('download', ...packages)
    return
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') throw error
  }
  for (const name of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(folder, name), { recursive: true })
  // apt's own download user may not be able to enter this folder.
  const own = [
    '-o',
    `Dir::State::Lists=${join(folder, 'lists')}`,
    '-o',
    `Dir::Cache=${join(folder, 'cache')}`,
  ]
  const options = [...own, '-o', 'APT::Sandbox::User=root']
  await apt(...options, '-o', 'APT::Update::Error-Mode=any', 'update')
  await apt(...options, 'download', ...packages)
}

/** @param {string} target a folder that is there only when it is complete @param {DebianProgram} program */
async function unpackInto(target, { name, packages, file, versionOption }) {
  const folder = await mkdtemp(join(tmpdir(), `holdfast-${name}-`))
  const unpacked = `${target}.${process.pid}`
  try {
    await downloadPackages(folder, packages)
    await mkdir(unpacked, { recursive: true })
    for (const packed of await readdir(folder))
      if (packed.endsWith('.deb')) await run('dpkg', ['-x', join(folder, packed), unpacked])
    await run(join(unpacked, file), [versionOption], { env: environmentOf(unpacked) })
    await rm(target, { recursive: true, force: true })
    await rename(unpacked, target)
  } finally {
    for (const path of [folder, unpacked]) await rm(path, { recursive: true, force: true })
  }
}

/** The libraries that were unpacked with it. @param {string} unpacked @returns {NodeJS.ProcessEnv} */
function environmentOf(unpacked) {
  const folders = ['usr/lib', 'lib']
    .map((name) => join(unpacked, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
  return { LD_LIBRARY_PATH: folders.join(delimiter) }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/**
 * Runs `work` while no other process does. The lock is a file with the id of the process that holds it.
 *
 * @template T @param {string} lock @param {() => Promise<T>} work @returns {Promise<T>}
 */
async function exclusively(lock, work) {
  for (;;) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    }
    const holder = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true })
    else await wait(200)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

/**
 * The program, or the reason why there is none.
 *
 * @param {string} root of the repository
 * @param {DebianProgram} program
 * @param {{ again?: boolean }} [options] `again`: try a download that failed a few minutes ago once more
 * @returns {Promise<Program | string>}
 */
export async function findDebianProgram(root, program, { again = false } = {}) {
  const { name, commands } = program
  const installed = commands.map(onPath).find((path) => path !== undefined)
  if (installed !== undefined) return { file: installed, env: {} }
  const cache = join(root, '.cache')
  const target = join(cache, name)
  const file = join(target, program.file)
  const failure = join(cache, `${name}-failure.txt`)
  await mkdir(cache, { recursive: true })
  if (!existsSync(file))
    await exclusively(join(cache, `${name}.lock`), async () => {
      if (existsSync(file)) return
      const failedAt = (await stat(failure).catch(() => undefined))?.mtimeMs ?? 0
      if (!again && Date.now() - failedAt < FAILURE_VALID_MS) return
      await rm(failure, { force: true })
      await unpackInto(target, program).catch((error) => writeFile(failure, describeFailure(error)))
    })
  if (existsSync(file)) return { file, env: environmentOf(target) }
  const reason = await readFile(failure, 'utf8')
  return `no ${commands.join(' or ')} on the PATH, and Debian's packages are not available: ${reason}`
}
