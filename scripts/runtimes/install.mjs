// Other JavaScript runtimes, from npm packages that contain a binary. They are installed into `.cache/runtimes` and are not
// dependencies of the repository, because together they have 500 MB.
// `node scripts/runtimes/install.mjs` installs them, or prints the reason why it cannot (exit code 1).
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { root } from '../packages.mjs'

const folder = join(root, '.cache/runtimes')
const platform = `${process.platform}-${process.arch}`

/** @typedef {{ name: string, specifier: string, binary: string, args: string[] }} Runtime `args` come before the program */

/** @param {string} name @param {string} version @param {string} source */
const fromPackage = (name, version, source) => `${name}@npm:${source}@${version}`

/** @type {Runtime[]} */
const runtimes = [
  ...['22.23.3', '24.9.0'].map((version) => {
    const name = `node-${version.split('.')[0]}`
    return {
      name,
      specifier: fromPackage(name, version, `node-${platform}`),
      binary: join(folder, `node_modules/${name}/bin/node`),
      args: [],
    }
  }),
  {
    name: 'bun',
    specifier: fromPackage('bun-binary', '1.4.4', `@oven/bun-${platform}`),
    binary: join(folder, 'node_modules/bun-binary/bin/bun'),
    args: ['--bun'],
  },
  {
    name: 'deno',
    specifier: fromPackage('deno-binary', '2.9.6', `@deno/${platform}-glibc`),
    binary: join(folder, 'node_modules/deno-binary/deno'),
    args: ['run', '--allow-all', '--quiet'],
  },
]

/** The runtimes that are installed. */
export const installedRuntimes = () => runtimes.filter(({ binary }) => existsSync(binary))

const INSTALL_LIMIT_MS = 300_000

export async function installRuntimes() {
  if (installedRuntimes().length === runtimes.length) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0']
  await promisify(execFile)('npm', [...args, ...runtimes.map(({ specifier }) => specifier)], {
    cwd: folder,
    timeout: INSTALL_LIMIT_MS,
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await installRuntimes()
    console.log(
      installedRuntimes()
        .map(({ name }) => name)
        .join(', '),
    )
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    console.error(`the other runtimes cannot be installed: ${message.split('\n')[0]}`)
    process.exitCode = 1
  }
}
