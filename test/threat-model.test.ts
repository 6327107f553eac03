import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
    rows: (section.match(/^\| .*\|$/gm) ?? []).filter((row) => !row.startsWith('| attack |')),
  }))

interface TestLink {
  readonly name: string
  readonly path: string
}

const linksIn = (text: string): TestLink[] =>
  [...text.matchAll(/\[((?:[^\]\\]|\\.)+)\]\(([^)]+)\)/g)].map(([, name = '', path = '']) => ({ name, path }))

/** The links of a line whose file does not exist, or does not contain a test with that name. */
const brokenIn = (cell: string): TestLink[] =>
  linksIn(cell).filter(({ name, path }) => {
    const file = join(dirname(PAGE), path)
    return !existsSync(file) || !readFileSync(file, 'utf8').replaceAll("\\'", "'").includes(name)
  })

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
    const [, attack = '', defence = '', tests = ''] = row.split(' | ').map((cell) => cell.replace(/^\| /, ''))
    expect(attack === '' && defence === '').toBe(false)
    const cell = tests === '' ? row.slice(row.lastIndexOf(' | ')) : tests
    expect(linksIn(cell).length).toBeGreaterThan(0)
    expect(brokenIn(cell)).toEqual([])
  })

  it('finds a test that does not exist', () => {
    expect(brokenIn('[no such test](threat-model.md) · [x](../packages/none.test.ts)')).toHaveLength(2)
  })
})
