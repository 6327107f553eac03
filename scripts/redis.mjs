// Where a Redis to try things with is found: on the PATH, else Debian's packages unpacked into the cache, without installing
// them. `node scripts/redis.mjs` makes sure that one is there and says which, or why there is none (exit code 1).
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What Debian's server needs besides what every Debian has. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1']

/** @typedef {{ file: string, env: NodeJS.ProcessEnv }} Program */

/** @param {string} name */
const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(':')
    .map((dir) => join(dir, name))
    .find(existsSync)

/** @param {string} cache @returns {Program} */
function unpacked(cache) {
  // redis-server is a link to redis-check-rdb, which is the same program under another name.
  const file = join(cache, 'usr/bin/redis-server')
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-deb-'))
    try {
      execFileSync('apt-get', ['download', ...PACKAGES], { cwd: folder, stdio: 'pipe' })
      for (const deb of readdirSync(folder))
        execFileSync('dpkg', ['-x', join(folder, deb), cache], { stdio: 'pipe' })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const libraries = ['usr/lib', 'lib'].flatMap((dir) => {
    const root = join(cache, dir)
    return existsSync(root) ? [root, ...readdirSync(root).map((name) => join(root, name))] : []
  })
  return { file, env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') } }
}

/**
 * The program, or why there is none.
 *
 * @param {string} root of the repository
 * @returns {Program | string}
 */
export function findRedis(root) {
  const file = onPath('redis-server') ?? onPath('valkey-server')
  if (file !== undefined) return { file, env: process.env }
  try {
    const program = unpacked(join(root, '.cache/redis'))
    execFileSync(program.file, ['--version'], { env: program.env, stdio: 'pipe' })
    return program
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    return `no Redis on the PATH, and Debian's packages could not be unpacked: ${message}`
  }
}

// Not where it is part of a bundle.
if (process.argv[1]?.endsWith('scripts/redis.mjs')) {
  const found = findRedis(fileURLToPath(new URL('..', import.meta.url)))
  console.log(typeof found === 'string' ? found : found.file)
  process.exitCode = typeof found === 'string' ? 1 : 0
}
