// The built package, imported as its users import it. Needs `npm run build`.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const here = (path: string) => new URL(path, import.meta.url)
const manifest = JSON.parse(readFileSync(here('../package.json'), 'utf8'))
const entries = Object.keys(manifest.exports).map((subpath) => `holdfast${subpath.slice(1)}`)

describe.each(entries)('%s', (entry) => {
  test('exports the names of its API snapshot', async () => {
    const snapshot = readFileSync(here(`../../../etc/${entry.replaceAll('/', '-')}.api.md`), 'utf8')
    const declared = (kinds: string) =>
      [...snapshot.matchAll(new RegExp(`^export (?:abstract )?(?:${kinds}) (\\w+)`, 'gm'))].map(
        ([, name]) => name,
      )
    const exported = Object.keys(await import(entry))
    expect(exported).toEqual(expect.arrayContaining(declared('const|function')))
    // A class can be exported as a type alone.
    expect(declared('const|function|class')).toEqual(expect.arrayContaining(exported))
  })

  // The internal entry is only for the other packages of the project.
  test.skipIf(entry === 'holdfast/internal')('exports its classes under their own names', async () => {
    const isClass = (value: unknown) => /^class\b/.test(String(value))
    const named = Object.entries(await import(entry)).filter(([, value]) => isClass(value))
    const names = named.map(([name, value]) => [name, (value as { name: string }).name])
    expect(names).toEqual(named.map(([name]) => [name, name]))
  })
})

test('has no dependencies', () => {
  expect(manifest).not.toHaveProperty('dependencies')
  expect(manifest).not.toHaveProperty('peerDependencies')
  expect(manifest).not.toHaveProperty('optionalDependencies')
})

test('imports nothing but its own files', () => {
  const code = readdirSync(here('../dist'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  const imported = code.flatMap((file) => {
    const text = readFileSync(here(`../dist/${file}`), 'utf8')
    return [...text.matchAll(/(?:\bfrom|\bimport|\brequire\()\s*\(?["']([^"']+)["']/g)].map(
      ([, specifier]) => specifier,
    )
  })
  expect(code.length).toBeGreaterThan(0)
  expect(imported.filter((specifier) => !specifier?.startsWith('.'))).toEqual([])
})

// The bounds of docs/decisions/0035-execution-by-composition.md, so that one call can be read without many files.
test('executes code of few source files for one call', () => {
  const script = fileURLToPath(here('../../../scripts/report/call-files.mjs'))
  const report = execFileSync(process.execPath, [script], { encoding: 'utf8' })
  const counts = [...report.matchAll(/^guard\.run with (.+): (\d+) files$/gm)].map(([, call, count]) => [
    call,
    Number(count),
  ])
  expect(Object.fromEntries(counts)).toEqual({
    'retry, success': 4,
    'retry, a failed attempt and a retry': 12,
    'retry and breaker, success': 4,
    'retry and breaker, a failed attempt and a retry': 17,
  })
})

// A typed array has a type parameter since TypeScript 5.7, and older compilers cannot read declarations that give it one.
test('has type declarations that TypeScript 5.4 can read', () => {
  const declarations = readdirSync(here('../dist'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.d.ts'),
  )
  const found = declarations.filter((file) =>
    /\b(?:Int|Uint|Float|Big)\w*Array<|\bArrayBufferView</.test(
      readFileSync(here(`../dist/${file}`), 'utf8'),
    ),
  )
  expect(declarations.length).toBeGreaterThan(0)
  expect(found).toEqual([])
})
