// Runs the projects of `test/projects` with the packed packages, each with another tool: test runners, compilers, bundlers. The
// packages and their dependencies are installed from a registry on this machine; the tools are those of this repository.
//   node scripts/check-projects.mjs [jest webpack …]
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { installEnvironment } from './install/environment.mjs'
import { packAll } from './install/pack.mjs'
import { startRegistry } from './install/registry.mjs'
import { root } from './packages.mjs'

const PACKAGES = [
  'holdfast',
  '@holdfast/runtime',
  '@holdfast/proxy',
  '@holdfast/compat',
  '@holdfast/adapters',
  '@holdfast/nestjs',
  // The other packages of NestJS must be beside it, because it and they find the same copy of its classes.
  '@nestjs/platform-express',
  '@nestjs/terminus',
]
/** Ends projects that hang. It is not a limit for speed: on a busy machine a build takes minutes. */
const LIMIT_MS = 900_000

// Inside the repository, so that the projects find its tools; their own node_modules come first.
const folder = join(root, '.cache/projects')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
cpSync(join(root, 'test/projects'), folder, { recursive: true })

const temporary = mkdtempSync(join(tmpdir(), 'holdfast-projects-'))
const registry = await startRegistry(packAll(temporary), join(temporary, 'tarballs'))
const env = installEnvironment(temporary, registry.url)
const run = promisify(execFile)
try {
  await run('npm', ['install', '--ignore-scripts', ...PACKAGES], { cwd: folder, env })
  const selected = process.argv.slice(2)
  const all = readdirSync(join(root, 'test/projects'))
  for (const project of selected.length > 0 ? selected : all) {
    const started = performance.now()
    await run('npm', ['test', '--silent'], {
      cwd: join(folder, project),
      env: { ...env, CI: 'true', PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter) },
      timeout: LIMIT_MS,
    }).catch((error) => {
      console.error(`${project}:\n${error.stdout}${error.stderr || error.message}`)
      process.exitCode = 1
    })
    console.log(`${project}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
  }
} finally {
  registry.close()
  rmSync(temporary, { recursive: true, force: true })
}
