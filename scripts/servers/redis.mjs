// A Redis for tests, examples and measurements. No npm package contains one, so it is searched: `redis-server` or
// `valkey-server` on the PATH, else Debian's packages, downloaded and unpacked into `.cache/redis` without installing them.
// `node scripts/servers/redis.mjs` prepares it and prints where it is, or the reason why there is none (exit code 1).
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findFreePort } from './ports.mjs'
import { startServer } from './supervise.mjs'

const run = promisify(execFile)

/** What Debian's server needs besides the libraries of every Debian. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1']

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

/** A failed download is not repeated for so long: a run asks once for each test file that needs Redis. */
const FAILURE_VALID_MS = 10 * 60_000

/** @typedef {{ file: string, env: NodeJS.ProcessEnv }} Program */

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
 */
async function downloadPackages(folder) {
  const apt = (/** @type {string[]} */ ...args) =>
    run('apt-get', [...APT_OPTIONS, ...args], { cwd: folder, timeout: APT_TIMEOUT_MS })
  try {
    await apt('download', ...PACKAGES)
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
  await apt(...options, 'download', ...PACKAGES)
}

/** @param {string} target a folder that is there only when it is complete */
async function unpackInto(target) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-redis-'))
  const unpacked = `${target}.${process.pid}`
  try {
    await downloadPackages(folder)
    await mkdir(unpacked, { recursive: true })
    for (const name of await readdir(folder))
      if (name.endsWith('.deb')) await run('dpkg', ['-x', join(folder, name), unpacked])
    await run(join(unpacked, 'usr/bin/redis-server'), ['--version'], { env: environmentOf(unpacked) })
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
 * @param {{ again?: boolean }} [options] `again`: try a download that failed a few minutes ago once more
 * @returns {Promise<Program | string>}
 */
export async function findRedis(root, { again = false } = {}) {
  const installed = onPath('redis-server') ?? onPath('valkey-server')
  if (installed !== undefined) return { file: installed, env: {} }
  const cache = join(root, '.cache')
  const target = join(cache, 'redis')
  const file = join(target, 'usr/bin/redis-server')
  const failure = join(cache, 'redis-failure.txt')
  await mkdir(cache, { recursive: true })
  if (!existsSync(file))
    await exclusively(join(cache, 'redis.lock'), async () => {
      if (existsSync(file)) return
      const failedAt = (await stat(failure).catch(() => undefined))?.mtimeMs ?? 0
      if (!again && Date.now() - failedAt < FAILURE_VALID_MS) return
      await rm(failure, { force: true })
      await unpackInto(target).catch((error) => writeFile(failure, describeFailure(error)))
    })
  if (existsSync(file)) return { file, env: environmentOf(target) }
  const reason = await readFile(failure, 'utf8')
  return `no redis-server or valkey-server on the PATH, and Debian's packages are not available: ${reason}`
}

const PLAIN = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']

/** A Redis on this machine that writes nothing to the disk. */
export class RedisServer {
  /** @readonly @type {number} */
  port
  #program
  #args
  /** @type {import('./supervise.mjs').SupervisedProcess | undefined} */
  #process

  /** @param {Program} program @param {number} port @param {readonly string[]} args */
  constructor(program, port, args) {
    this.port = port
    this.#program = program
    this.#args = args
  }

  /** @param {Program} program @param {(port: number) => readonly string[]} [args] */
  static async start(program, args = (port) => ['--port', String(port), ...PLAIN]) {
    for (let tries = 1; ; tries++) {
      const port = await findFreePort()
      const redis = new RedisServer(program, port, args(port))
      try {
        await redis.up()
        return redis
      } catch (error) {
        // Another process may have taken the port meanwhile.
        if (tries === 3 || !/Address already in use/i.test(String(error))) throw error
      }
    }
  }

  get url() {
    return `redis://127.0.0.1:${this.port}/0`
  }

  /** Starts it, empty. */
  async up() {
    this.#process = await startServer({
      name: 'Redis',
      command: this.#program.file,
      args: this.#args,
      env: this.#program.env,
      cwd: tmpdir(), // A replica writes what it receives to its working directory.
      isReady: (output) => /Ready to accept connections|Sentinel ID is/.test(output),
    })
  }

  get pid() {
    return this.#process?.pid
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.#process?.signal(signal)
  }

  /** Ends it as a crash does. */
  async kill() {
    await this.#process?.end('SIGKILL')
  }
}

// Not where it is part of a bundle.
if (process.argv[1]?.endsWith('scripts/servers/redis.mjs')) {
  const found = await findRedis(fileURLToPath(new URL('../..', import.meta.url)), { again: true })
  console.log(typeof found === 'string' ? found : found.file)
  process.exitCode = typeof found === 'string' ? 1 : 0
}
