import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { root } from '../packages.mjs'
import { readExports } from '../reference/api-model.mjs'
import { apiPages, findUndocumented } from '../reference/api-pages.mjs'
import { parseDocComment } from '../reference/doc-comment.mjs'
import { createAnchors, escapeText, firstSentence, table } from '../reference/markdown.mjs'
import { findWithoutDescription } from '../reference/rest-page.mjs'
import { fieldsOf, typeOf } from '../reference/schema-fields.mjs'
import { TOPICS, topicOf } from '../reference/topics.mjs'

describe('doc comments', () => {
  test('have a summary, and tags at the start or at the end of a line', () => {
    const doc = parseDocComment(
      '/**\n * Runs it.\n * Twice. @defaultValue 3\n *\n * @param fn - the function\n * @throws CANCELLED\n * @returns a value\n */',
    )
    expect(doc).toMatchObject({
      summary: 'Runs it.\nTwice.',
      defaultValue: '3',
      throws: ['CANCELLED'],
      returns: 'a value',
    })
    expect(doc.params).toEqual(new Map([['fn', 'the function']]))
  })

  test('keep decorators in examples', () => {
    const { examples } = parseDocComment(
      '/**\n * A.\n *\n * @example\n * ```ts\n * @throws\n * class A {}\n * ```\n */',
    )
    expect(examples).toEqual(['```ts\n@throws\nclass A {}\n```'])
  })
})

describe('Markdown', () => {
  test('escapes HTML and expressions of Vue outside of code', () => {
    expect(escapeText('a <T> `<T>` {{ b }}')).toBe('a &lt;T> `<T>` &#123;&#123; b }}')
  })

  test('leaves out empty columns of a table and escapes bars', () => {
    expect(table(['a', 'b', 'c'], [['1', '', 'x | y']])).toBe('| a | c |\n|---|---|\n| 1 | x \\| y |')
  })

  test('numbers anchors that occur again', () => {
    const anchor = createAnchors()
    expect(['guard', 'Guard', 'GET /a/{id}'].map(anchor)).toEqual(['guard', 'guard-1', 'get-aid'])
  })

  test('finds the first sentence', () => {
    expect(firstSentence('Runs it, e.g. twice. Then stops.\n\nMore.')).toBe('Runs it, e.g. twice.')
  })
})

describe('JSON Schema', () => {
  test.each([
    [{ type: 'integer', minimum: 1, maximum: 10 }, 'integer 1 to 10'],
    [{ type: 'number', exclusiveMinimum: 0 }, 'number above 0'],
    [{ enum: ['a', 'b'] }, '"a" | "b"'],
    [{ anyOf: [{ type: 'string' }, {}, { type: 'null' }] }, 'string | null'],
    [{ type: 'array', items: { $ref: '#/components/schemas/Job' } }, 'Job[]'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'map of integer'],
    [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, '{ a: string }'],
    [{ type: 'string', format: 'date-time' }, 'time (ISO 8601)'],
    [{ type: ['number', 'null'], minimum: 0 }, 'number from 0 | null'],
    [{ type: ['integer', 'string'], minimum: 1, pattern: '^Infinity$' }, 'integer from 1 | "Infinity"'],
    [{ anyOf: [{ enum: ['a'] }, { type: 'array', items: { enum: ['a'] } }] }, '"a", can be repeated'],
  ])('%j is %s', (schema, type) => {
    expect(typeOf(schema)).toBe(type)
  })

  test('a field with a default is not required', () => {
    const [field] = fieldsOf({ properties: { a: { type: 'integer', default: 3 } }, required: ['a'] })
    expect(field).toMatchObject({ isRequired: false, defaultValue: 3 })
  })

  test('parameters and fields without a description are reported', () => {
    const parameters = [
      { name: 'limit', schema: {} },
      { name: 'id', schema: { description: 'The id.' } },
    ]
    const schemas = { Job: { properties: { id: { type: 'string' } } } }
    expect(
      findWithoutDescription({ paths: { '/jobs': { get: { parameters } } }, components: { schemas } }),
    ).toEqual(['the parameter limit of GET /jobs', 'the field id of the schema Job of the REST API'])
  })
})

test('an export belongs to the topic with the longest matching path', () => {
  expect(topicOf('holdfast', 'packages/core/src/retry/options.ts')?.title).toBe('Retry')
  expect(topicOf('holdfast', 'packages/core/src/retry/budget.ts')?.title).toBe('Retry budget')
  expect(topicOf('holdfast', 'packages/core/src/unknown.ts')).toBeUndefined()
})

describe('exports', () => {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/reference-test-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const read = (text: string) => {
    const types = join(folder, 'index.d.ts')
    writeFileSync(types, text)
    return readExports([{ id: 'holdfast', types }])
  }

  test('have signatures, members, defaults and inherited members', () => {
    const [entry] = read(`
export {}
interface Base { /** The name. */ name: string }
/** Options. */
export interface Options extends Base {
  /** How often. @defaultValue 3 */
  count?: number | undefined
  /** @internal */
  hidden: string
}
/** Runs it. */
export declare function run(options?: Options): Promise<void>
/** Stops it. */
export declare const stop: () => void
/** A state. */
export type State = 'on' | 'off'
/** Counts. */
export declare class Counter {
  private secret;
  /** Adds one. */
  add(): number;
}
`)
    const byName = entry?.exports.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const shown = byName?.map(({ name, kind, signatures, members }) => ({
      name,
      kind,
      signatures,
      members: members.map((member) => [member.name, member.text, member.doc.defaultValue]),
    }))
    expect(shown).toEqual([
      {
        name: 'Counter',
        kind: 'class',
        signatures: ['class Counter'],
        members: [['add', 'add(): number', undefined]],
      },
      {
        name: 'Options',
        kind: 'interface',
        signatures: ['interface Options extends Base'],
        members: [
          ['count', 'number', '3'],
          ['name', 'string', undefined],
        ],
      },
      { name: 'State', kind: 'type', signatures: ["type State = 'on' | 'off'"], members: [] },
      {
        name: 'run',
        kind: 'function',
        signatures: ['function run(options?: Options): Promise<void>'],
        members: [],
      },
      { name: 'stop', kind: 'function', signatures: ['const stop: () => void'], members: [] },
    ])
  })

  test('without a sentence are reported, and so are their properties', () => {
    const entries = read('export interface A { a: string }\n/** B. */\nexport type B = string\n')
    expect(findUndocumented(entries).map((line) => line.split(' ')[0])).toEqual(['A', 'A.a'])
  })

  test('that belong to no topic are an error', () => {
    expect(() => apiPages(read('/** A. */\nexport type A = string\n'))).toThrow('A (')
  })
})

test('every topic has an entry that says what it is for', () => {
  for (const { about, topics } of Object.values(TOPICS)) {
    expect(about).toMatch(/\.$/)
    expect(topics.length).toBeGreaterThan(0)
  }
})
