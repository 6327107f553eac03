// `npm test`: everything that must hold before a change is kept.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runSteps } from './gate/steps.mjs'
import { countTests, failedTests } from './gate/vitest.mjs'
import { root } from './packages.mjs'

const report = join(root, '.cache/vitest.json')
process.chdir(root)
mkdirSync('.cache', { recursive: true })
rmSync(report, { force: true })

/** @type {import('./gate/steps.mjs').Step[]} */
const steps = [
  // Two steps run at a time, in this order, so the longest are first: a long step at the end would leave a core without work.
  { name: 'build', command: ['node', 'scripts/build.mjs'] },
  // Tests that need a Redis are skipped where there is none: this step says why.
  { name: 'redis', command: ['node', 'scripts/servers/redis.mjs'], optional: true },
  // The same for two fuzz targets of the proxy.
  {
    name: 'nginx and Squid',
    command: ['node', 'scripts/servers/http-proxies.mjs'],
    optional: true,
    after: ['redis'],
  },
  {
    name: 'tests',
    command: ['vitest', 'run', '--reporter=minimal', '--reporter=json', `--outputFile.json=${report}`],
    count: () => countTests(JSON.parse(readFileSync(report, 'utf8'))),
    after: ['build', 'redis', 'nginx and Squid'],
  },
  // Not a test, because one process would then simulate for minutes after all other tests have ended.
  {
    name: 'simulation, seeds 1 to 50',
    command: ['node', 'packages/simulation/run.mjs', '--seeds', '50', '--repeat-every', '10'],
  },
  {
    name: 'simulation, seeds 51 to 100',
    command: ['node', 'packages/simulation/run.mjs', '--from', '51', '--seeds', '50', '--repeat-every', '9'],
  },
  { name: 'projects', command: ['node', 'scripts/check-projects.mjs'], needs: ['build'] },
  // By its path: another version of the compiler is installed too, and has a command of the same name.
  { name: 'types', command: ['node', 'node_modules/typescript/bin/tsc', '-b'], needs: ['build'] },
  { name: 'site', command: ['vitepress', 'build', 'docs'] },
  { name: 'lint', command: ['oxlint'], after: ['build'] },
  { name: 'package', command: ['node', 'scripts/check-package.mjs'], needs: ['build'] },
  { name: 'install', command: ['node', 'scripts/check-install.mjs'], needs: ['build'] },
  { name: 'api', command: ['node', 'scripts/api.mjs'], needs: ['build'] },
  { name: 'spelling', command: ['npm', 'run', '--silent', 'lint:spelling'] },
  { name: 'published types', command: ['node', 'scripts/check-types.mjs'], needs: ['build'] },
  { name: 'reference', command: ['node', 'scripts/reference.mjs'], needs: ['build'] },
  {
    name: 'published types, TypeScript 5.4',
    command: ['node', 'scripts/check-types.mjs', 'typescript-5.4'],
    needs: ['build'],
  },
  { name: 'unused', command: ['knip'] },
  { name: 'folders', command: ['depcruise', 'packages', '--config', '.dependency-cruiser.mjs'] },
  { name: 'prose', command: ['npm', 'run', '--silent', 'lint:prose'] },
  { name: 'format', command: ['biome', 'check', '--error-on-warnings', '--reporter=summary'] },
  // Node.js 22 and 24, Bun and Deno are tested if they can be downloaded: the first step says why not.
  { name: 'runtimes', command: ['node', 'scripts/runtimes/install.mjs'], optional: true },
  {
    name: 'on other runtimes',
    command: ['node', 'scripts/test-runtimes.mjs', '--short'],
    needs: ['build'],
    after: ['runtimes'],
  },
  { name: 'size', command: ['size-limit'], needs: ['build'] },
]

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(130))

const marks = { passed: 'ok', failed: 'FAILED', skipped: 'skipped' }
const results = await runSteps(steps, {
  env: {
    PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
    NO_COLOR: '1',
  },
  onResult({ name, status, seconds, note = '' }) {
    console.log(
      `${marks[status].padEnd(8)}${name.padEnd(10)}${seconds.toFixed(1).padStart(5)} s  ${note}`.trimEnd(),
    )
  },
})

for (const { name, output } of results.filter(({ status }) => status === 'failed'))
  console.log(`\n--- ${name}\n${output}`)

// Once more at the end, because programs that show the output of others often cut it.
if (existsSync(report))
  for (const text of failedTests(JSON.parse(readFileSync(report, 'utf8')), root))
    console.log(`\nFAILED ${text}`)

const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ key) =>
  results.reduce((total, result) => total + result[key], 0)
const skipped = sum('skipped')
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = sum('failed') === 0 ? 0 : 1
