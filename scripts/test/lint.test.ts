import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { wrongImport } from '../lint/arrows.mjs'
import { root } from '../packages.mjs'

/** Lints files with the real configuration; tells the paths of those in which a rule of ours found something. */
function lint(files: Record<string, string>): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-lint-'))
  const config = readFileSync(join(root, '.oxlintrc.json'), 'utf8')
    .replace('./scripts/lint/plugin.mjs', join(root, 'scripts/lint/plugin.mjs'))
    .replace('"typeAware": true', '"typeAware": false')
  for (const [path, text] of Object.entries({ ...files, '.oxlintrc.json': config })) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  try {
    execFileSync(join(root, 'node_modules/.bin/oxlint'), ['--format=unix'], { cwd: dir, encoding: 'utf8' })
    return []
  } catch (error) {
    const { stdout } = error as { stdout: string }
    return stdout.split('\n').flatMap((line) => line.match(/^(.+?):\d.*holdfast\(/)?.[1] ?? [])
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Lints each snippet as a source of the engine, all in one run; tells which were caught. */
function lintSnippets(snippets: string[]): boolean[] {
  const name = (index: number) => `packages/core/src/s${index}.ts`
  const caught = lint(Object.fromEntries(snippets.map((code, index) => [name(index), `${code}\n`])))
  return snippets.map((_, index) => caught.includes(name(index)))
}

const allowed = [
  'clock.now()',
  'clock.setTimer(fn, 5)',
  'new Date(clock.wall())',
  'Date.parse(text)',
  'x instanceof Date',
  'Math.min(1, 2)',
  'queueMicrotask(fn)',
  'const handlers = { setTimeout: 1 }; handlers.setTimeout',
  'function wait(setTimeout: () => void) { setTimeout() }',
  'let handle: ReturnType<typeof setTimeout>',
  '// oxlint-disable-next-line holdfast/clock -- a real socket needs real time\nDate.now()',
  "import './b.js'",
]
const banned = [
  'Date.now()',
  "Date['now']()",
  'const read = Date.now',
  'const { now } = Date',
  'new Date()',
  'Date()',
  'performance.now()',
  'Math.random()',
  'const { random: chance } = Math',
  'setTimeout(fn, 1)',
  'const later = setTimeout',
  'setInterval(fn, 1)',
  'globalThis.setTimeout(fn, 1)',
  'globalThis.Date.now()',
  'new globalThis.Date()',
  'const { setTimeout: later } = globalThis',
  'AbortSignal.timeout(5)',
  "import { setTimeout } from 'node:timers/promises'",
  '// oxlint-disable-next-line holdfast/clock\nDate.now()',
  "import 'node:fs'",
  "export * from 'zod'",
  "export { a } from 'zod'",
  "const a = await import('zod')",
  "type A = import('zod').A",
]

describe('a source of the engine', () => {
  const caught = lintSnippets([...allowed, ...banned])
  test.each(allowed.map((code, index) => [code, index] as const))('may say %s', (_, index) => {
    expect(caught[index]).toBe(false)
  })
  test.each(banned.map((code, index) => [code, index] as const))('may not say %s', (_, index) => {
    expect(caught[allowed.length + index]).toBe(true)
  })
})

describe('imports follow the arrows', () => {
  test.each([
    ['packages/core/src/guard/run.ts', '../clock.js'],
    ['packages/core/src/testing/clock.ts', '../clock.js'],
    ['packages/core/test/guard.test.ts', '../src/testing/index.js'],
    ['packages/core/test/guard.test.ts', 'node:fs'],
    ['packages/runtime/src/open.ts', 'holdfast'],
    ['packages/runtime/src/open.ts', 'holdfast/http'],
    ['packages/runtime/src/open.ts', 'node:fs'],
    ['packages/server/src/app.ts', '@holdfast/runtime'],
    ['scripts/build.mjs', './packages.mjs'],
  ])('%s may import %s', (file, specifier) => {
    expect(wrongImport(file, specifier)).toBeUndefined()
  })

  test.each([
    ['packages/core/src/guard/run.ts', 'node:fs', 'core imports no package'],
    ['packages/core/src/guard/run.ts', 'fs', 'core imports no package'],
    ['packages/core/src/guard/run.ts', 'zod', 'core imports no package'],
    ['packages/core/src/guard/run.ts', '@holdfast/runtime', 'core imports no package'],
    ['packages/core/src/index.ts', './testing/index.js', 'testing kit'],
    ['packages/core/src/index.ts', '../test/fixtures.js', 'sources only'],
    ['packages/runtime/src/open.ts', '@holdfast/server', 'runtime does not import'],
    ['packages/runtime/src/open.ts', '@holdfast/proxy', 'runtime does not import'],
    ['packages/proxy/src/serve.ts', '@holdfast/runtime', 'proxy does not import'],
    ['packages/store/src/open/open-store.ts', '@holdfast/config', 'store does not import'],
    ['packages/new/src/run.ts', 'holdfast', 'new does not import'],
    ['packages/runtime/src/open.ts', '../../core/src/index.js', 'by its package name'],
    ['examples/proxies/main.ts', '../../packages/core/src/index.js', 'by its package name'],
  ])('%s may not import %s', (file, specifier, problem) => {
    expect(wrongImport(file, specifier)).toContain(problem)
  })
})

test('only the clock file and the tools may read the time of the machine', () => {
  const time = 'export const now = () => Date.now()\n'
  const caught = lint({
    'packages/core/src/clock.ts': time,
    'bench/run.mjs': time,
    'scripts/a.mjs': time,
    'packages/core/src/guard/clock.ts': time,
    'packages/core/test/a.test.ts': time,
    'packages/runtime/src/a.ts': time,
  })
  expect(caught.toSorted()).toEqual([
    'packages/core/src/guard/clock.ts',
    'packages/core/test/a.test.ts',
    'packages/runtime/src/a.ts',
  ])
})

test('rejected phrases are found in comments, strings, templates and the text of the dashboard', () => {
  const files = {
    'packages/core/src/a.ts': '// nobody listens\n',
    'packages/core/src/b.ts': "export const b = 'nobody listens'\n",
    'packages/core/src/c.ts': 'export const c = `$' + '{1} nobody listens`\n',
    'packages/dashboard/src/d.tsx': 'export const d = <p>nobody listens</p>\n',
    'packages/core/src/e.ts': '// no process listens\n',
  }
  expect(lint(files).toSorted()).toEqual(Object.keys(files).slice(0, 4).toSorted())
})
