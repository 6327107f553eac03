import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../scripts/packages.mjs'

const PAGE = join(root, 'docs/threat-model.md')
const page = readFileSync(PAGE, 'utf8')

/** The sections about attackers, each with the rows of its table. */
const sections = page
  .split('\n## ')
  .filter((section) => section.startsWith('An attacker'))
  .map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    rows: (section.match(/^\|.*$/gm) ?? []).filter((row) => !/^\| attack \||^\|-/.test(row)),
  }))

interface TestLink {
  readonly name: string
  readonly path: string
}

const linksIn = (text: string): TestLink[] =>
  [...text.matchAll(/\[((?:[^\]\\]|\\.)+)\]\(([^)]+)\)/g)].map(([, name = '', path = '']) => ({ name, path }))

/** The titles of the tests in a source: the first argument of `it`, `test`, or of what their `each` or `skipIf` returns. */
const titlesIn = (source: string): string[] =>
  [...source.matchAll(/(?:\b(?:it|test)(?:\.\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1\s*,/g)].map(
    ([, , title = '']) => title.replaceAll(/\\(.)/g, '$1'),
  )

/** Whether a link names an existing test by its exact title, or a fuzz target by the name of its file. */
function isTest({ name, path }: TestLink): boolean {
  const file = join(dirname(PAGE), path)
  if (!existsSync(file)) return false
  if (path.endsWith('.target.ts')) return basename(path, '.target.ts') === name
  return titlesIn(readFileSync(file, 'utf8')).includes(name)
}

/** What is wrong with a row: an empty cell, no link, or links that name no test. */
function problemsOf(row: string): string[] {
  const cells = row.split('|').slice(1, -1)
  const [attack = '', defence = '', tests = ''] = cells.map((cell) => cell.trim())
  const links = linksIn(tests)
  return [
    ...(cells.length === 3 ? [] : [`expected 3 cells, got ${cells.length}`]),
    ...(attack === '' ? ['no attack'] : []),
    ...(defence === '' ? ['no defence'] : []),
    ...(links.length === 0 ? ['no test'] : []),
    ...links.filter((link) => !isTest(link)).map(({ name, path }) => `no test "${name}" in ${path}`),
  ]
}

describe('the threat model', () => {
  it('has an attacker on the network, in a web page, on the machine and in an upstream response', () => {
    expect(sections.map(({ title }) => title)).toEqual([
      'An attacker on the network',
      'An attacker in a web page',
      'An attacker on the machine',
      'An attacker in an upstream response',
    ])
    for (const { rows } of sections) expect(rows.length).toBeGreaterThan(5)
  })

  it.each(sections.flatMap(({ rows }) => rows))('names a defence and an existing test: %s', (row) => {
    expect(problemsOf(row)).toEqual([])
  })

  const LINK =
    '[finds rows with an empty cell, without a test or with another one](../test/threat-model.test.ts)'

  it('finds rows with an empty cell, without a test or with another one', () => {
    expect(problemsOf(`| a | b | ${LINK} |`)).toEqual([])
    expect(problemsOf(`|  | b | ${LINK} |`)).toEqual(['no attack'])
    expect(problemsOf(`| a |  | ${LINK} |`)).toEqual(['no defence'])
    expect(problemsOf('| a | b |  |')).toEqual(['no test'])
    expect(problemsOf('| a | b | tests exist |')).toEqual(['no test'])
    expect(problemsOf(`| a | ${LINK} |`)).toEqual(['expected 3 cells, got 2', 'no test'])
    expect(problemsOf('| a | b | [x](../packages/none.test.ts) |')).toEqual([
      'no test "x" in ../packages/none.test.ts',
    ])
  })

  it.each([
    ['a part of a title', 'finds rows with an empty cell'],
    ['a text that is not a title', 'An attacker on the network'],
    ['an identifier', 'problemsOf'],
    ['a title of a group', 'the threat model'],
  ])('does not accept %s as a test', (_kind, name) => {
    expect(isTest({ name, path: '../test/threat-model.test.ts' })).toBe(false)
  })

  it('accepts a fuzz target only by the name of its file', () => {
    const path = '../packages/config/test/fuzz/config.target.ts'
    expect(isTest({ name: 'config', path })).toBe(true)
    expect(isTest({ name: 'version', path })).toBe(false)
  })
})
