// `npm run test:runtimes [-- NAME…]`: the tests of the core, http included, and of the runtime on Node.js 22 and 24, Bun and Deno.
// `-- --short`: the short test of each installed runtime only, with the built packages.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './packages.mjs'
import { installedRuntimes, installRuntimes } from './runtimes/install.mjs'

const isShort = process.argv.includes('--short')
const names = process.argv.slice(2).filter((each) => each !== '--short')
if (!isShort) await installRuntimes()

const selected = installedRuntimes().filter(({ name }) => names.length === 0 || names.includes(name))
if (selected.length === 0) console.log('no other runtime is installed: node scripts/runtimes/install.mjs')

for (const { name, binary, args } of selected) {
  const program = isShort
    ? [join(root, 'scripts/runtimes/short.mjs')]
    : [
        join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=dot',
        '--project=core',
        '--project=runtime',
        '--project=apart', // the tests of http and undici, and others that need a process of their own
        'packages/core/test',
        'packages/runtime/test',
      ]
  const started = performance.now()
  const { status, stdout, stderr } = spawnSync(binary, [...args, ...program], {
    cwd: root,
    encoding: 'utf8',
    stdio: isShort ? 'pipe' : 'inherit',
  })
  console.log(
    `${name}: ${status === 0 ? 'ok' : 'FAILED'}, ${((performance.now() - started) / 1000).toFixed(1)} s`,
  )
  if (status === 0) continue
  process.exitCode = 1
  if (isShort) console.error(`${stdout}${stderr}`)
}
