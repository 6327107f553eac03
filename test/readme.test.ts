import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { figuresTable, readmeWithFigures } from '../scripts/docs/figures.mjs'
import { packages, root } from '../scripts/packages.mjs'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

describe('README.md', () => {
  it('has the figures of bench/RESULTS.md: node scripts/docs/figures.mjs writes them', () => {
    expect(readme).toBe(readmeWithFigures())
  })

  it('links every published package', () => {
    const missing = packages()
      .filter((each) => !each.private)
      .map(({ dir }) => `(packages/${dir.split('/').at(-1)})`)
      .filter((link) => !readme.includes(link))
    expect(missing).toEqual([])
  })
})

describe('the table of figures', () => {
  const results = readFileSync(join(root, 'bench/RESULTS.md'), 'utf8')

  it('follows RESULTS.md', () => {
    const [, figure] = results.match(/^\| cockatiel +\| +([\d.]+ [nµm]s) \|/m) ?? []
    expect(figuresTable(results)).toContain(`| ${figure} |`)
    expect(figuresTable(results.replace(/^(\| cockatiel +\| +)[\d.]+ [nµm]s \|/m, '$1999 ms |'))).toContain(
      '| 999 ms |',
    )
  })

  it('fails when a figure is missing', () => {
    expect(() => figuresTable(results.replaceAll('cockatiel', 'other'))).toThrow(
      'no figure for success, cockatiel, per call',
    )
  })
})
