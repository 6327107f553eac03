// `holdfast/retry` had the condition `module-sync`, with which `require` loads an ECMAScript module. It fails under tsx on Node 20.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const packages = new URL('../../../', import.meta.url)
const manifests = readdirSync(packages)
  .map((folder) => new URL(`${folder}/package.json`, packages))
  .filter((file) => existsSync(file))
  .map((file) => JSON.parse(readFileSync(file, 'utf8')))
const entries = manifests.flatMap(({ name, exports = {} }) =>
  Object.entries(exports).map(([subpath, target]) => ({ entry: name + subpath.slice(1), target })),
)

/** The conditions of an entry in their order, without the files. */
const shapeOf = (target: unknown): unknown =>
  typeof target === 'string'
    ? '*'
    : Object.entries(target as object).map(([condition, value]) => [condition, shapeOf(value)])

const files = [
  ['types', '*'],
  ['default', '*'],
]
const both = [
  ['module', '*'],
  ['require', files],
  ['default', files],
]
const expected: Record<string, unknown> = {
  // `require` returns the class itself, which a bundler could not do with the ECMAScript module.
  '@holdfast/compat/opossum': both.slice(1),
  '@holdfast/runtime/schema.json': '*',
  '@holdfast/server': files,
  '@holdfast/server/internal': files,
}

describe.each(entries)('$entry', ({ entry, target }) => {
  test('has the export conditions of every other entry', () => {
    expect(shapeOf(target)).toEqual(expected[entry] ?? both)
  })

  test('loads a CommonJS file with require', () => {
    const required = (target as { require?: { default: string } }).require
    if (required) expect(required.default).toMatch(/^\.\/dist\/cjs\//)
  })
})
