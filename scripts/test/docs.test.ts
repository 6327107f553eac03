import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { withAssertions } from '../docs/assertions.mjs'
import { fromMarkdown, fromSource } from '../docs/extract.mjs'
import { writeModule } from '../docs/run.mjs'
import { typeErrors } from '../docs/typecheck.mjs'
import { root } from '../packages.mjs'

const example = (code: string, line = 10) => ({ file: 'docs/a.md', line, code, run: true })

describe('finding examples', () => {
  test('takes ts blocks alone, with the line of their code', () => {
    const text = '# A\n\n```ts\nf()\n```\n\n```js\ng()\n```\n\n```\nh()\n```\n'
    expect(fromMarkdown('a.md', text)).toEqual([{ file: 'a.md', line: 4, code: 'f()', run: true }])
  })

  test('ignores a block within a longer fence', () => {
    expect(fromMarkdown('a.md', '````md\n```ts\nf()\n```\n````\n')).toEqual([])
  })

  test('removes the indent of a block in a list', () => {
    expect(fromMarkdown('a.md', '- one\n\n  ```ts\n  if (a) {\n    f()\n  }\n  ```\n')[0]?.code).toBe(
      'if (a) {\n  f()\n}',
    )
  })

  test('knows blocks that are not run', () => {
    expect(fromMarkdown('a.md', '```ts no-run\nf()\n```')[0]?.run).toBe(false)
  })

  test('refuses a flag it does not know, and a block without an end', () => {
    expect(() => fromMarkdown('a.md', '\n```ts norun\nf()\n```')).toThrow('a.md:2')
    expect(() => fromMarkdown('a.md', '\n```ts\nf()\n')).toThrow('a.md:2')
  })

  test('reads doc comments of sources', () => {
    const text =
      'const a = 1\n\n/**\n * Adds.\n *\n * @example\n * ```ts\n * add(1, 2) // => 3\n * ```\n */\n'
    expect(fromSource('a.ts', text)).toEqual([
      { file: 'a.ts', line: 8, code: 'add(1, 2) // => 3', run: true },
    ])
  })

  test('rejects an @example without a ts block', () => {
    expect(() => fromSource('a.ts', '/**\n * @example\n * add(1, 2)\n */')).toThrow('a.ts:1')
  })
})

describe('assertions of an example', () => {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/docs-test-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const run = (code: string) => import(writeModule(folder, { ...example(code), line: id++ }))
  let id = 2

  test.each([
    '1 + 1 // => 2',
    'await Promise.resolve(1) // => 1',
    'const list = [1].concat(2) // => [1, 2]',
    'console.log({ a: 1 }) // => { a: 1 }',
    'console.log([1,\n  2])\n// => [1, 2]',
    "await Promise.reject(Object.assign(new Error('x'), { code: 'CIRCUIT_OPEN' })) // throws CIRCUIT_OPEN",
    "JSON.parse('{') // throws SyntaxError",
    "const t = (n: number): string => 'x'.repeat(n)\nt(2) // => 'xx'",
    'async function f() {\n  await Promise.reject(new TypeError()) // throws TypeError\n}\nawait f()',
  ])('hold in %s', async (code) => {
    await run(code)
  })

  test.each([
    ['1 + 1 // => 3', 'to deeply equal 3'],
    ['await Promise.resolve(1) // => 2', 'to deeply equal 2'],
    ['const list = [1] // => [2]', 'to deeply equal'],
    ['console.log(1) // => 2', 'to deeply equal 2'],
    ['1 // throws CIRCUIT_OPEN', 'throws CIRCUIT_OPEN'],
    ['await Promise.reject(new TypeError()) // throws CIRCUIT_OPEN', 'throws CIRCUIT_OPEN'],
  ])('fail in %s', async (code, message) => {
    const where = `docs/a.md:${id}`
    const failure = await run(code).catch((error: Error) => error.message)
    expect(failure).toContain(where)
    expect(failure).toContain(message)
  })

  test('stay on their line', () => {
    const code = withAssertions(example('a(\n  1,\n)\n// => 2\nb() // throws X'))
    expect(code.split('\n').map((line) => line.trim())).toEqual([
      '__equal(a(',
      '1,',
      '), (2), "docs/a.md:13")',
      '// => 2',
      `await __throws(async () => (b()), 'X', "docs/a.md:14") // throws X`,
    ])
  })

  test('that belong to nothing, or compare with nothing, are refused', () => {
    expect(() => withAssertions(example('f()\n\n\n// => 2'))).toThrow('docs/a.md:13')
    expect(() => withAssertions(example('f() // => roughly two'))).toThrow('docs/a.md:10')
    expect(() => withAssertions(example('const { a } = f() // => 2'))).toThrow('docs/a.md:10')
  })
})

test('an example with a type error is named with its line', () => {
  const good = example('const n: number = 1\nawait Promise.resolve(n)')
  const bad = example("const a = 1\nconst n: number = 'one'", 20)
  const problems = typeErrors(root, [good, bad])
  expect(problems.get(good)).toBeUndefined()
  expect(problems.get(bad)).toEqual([expect.stringMatching(/^docs\/a\.md:21: Type 'string'/)])
})
