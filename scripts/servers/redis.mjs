// A Redis for tests, examples and measurements. No npm package contains one, so it is searched: `redis-server` or
// `valkey-server` on the PATH, else Debian's packages, downloaded and unpacked into `.cache/redis` without installing them.
// `node scripts/servers/redis.mjs` prepares it and prints where it is, or the reason why there is none (exit code 1).
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findDebianProgram } from './debian.mjs'
import { findFreePort } from './ports.mjs'
import { startServer } from './supervise.mjs'

/** @typedef {import('./debian.mjs').Program} Program */

const REDIS = {
  name: 'redis',
  commands: ['redis-server', 'valkey-server'],
  packages: ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'],
  file: 'usr/bin/redis-server',
  versionOption: '--version',
}

/**
 * The program, or the reason why there is none.
 *
 * @param {string} root of the repository
 * @param {{ again?: boolean }} [options] `again`: try a download that failed a few minutes ago once more
 */
export const findRedis = (root, options) => findDebianProgram(root, REDIS, options)

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
