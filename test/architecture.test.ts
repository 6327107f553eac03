import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../scripts/packages.mjs'

const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
const packages = readdirSync(join(root, 'packages')).filter((name) =>
  existsSync(join(root, 'packages', name, 'package.json')),
)

/** The part of ARCHITECTURE.md about the sources of a package. */
const sectionOf = (name: string): string => {
  const [, rest = ''] = text.split(`## \`packages/${name}/src\`\n`)
  return rest.split('\n## ')[0] as string
}

describe('ARCHITECTURE.md', () => {
  it.each(packages)('describes every source folder of packages/%s', (name) => {
    const folders = readdirSync(join(root, 'packages', name, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .filter((entry) => readdirSync(join(entry.parentPath, entry.name)).length > 0)
      .map((entry) => `\`${entry.name}/\``)
    const section = sectionOf(name)
    expect(folders.filter((folder) => !section.includes(folder))).toEqual([])
  })

  it.each(packages)('names no source folder of packages/%s that does not exist', (name) => {
    const named = [...sectionOf(name).matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([\w-]+)\/`/g)].map(([, folder]) => folder as string),
    )
    expect(named.filter((folder) => !existsSync(join(root, 'packages', name, 'src', folder)))).toEqual([])
  })

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link as string)
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([])
  })
})

/** The rows of the tables and the numbered lists in a section of a document. */
const listsOf = (document: string, heading: string): string => {
  const [, rest = ''] = readFileSync(join(root, document), 'utf8').split(`## ${heading}\n`)
  return (rest.split('\n## ')[0] as string).match(/^(\|.*\||\d+\. .*| {3}.*)$/gm)?.join('\n') ?? ''
}

describe.each([
  ['ARCHITECTURE.md', 'Where to make a change'],
  ['CONTRIBUTING.md', 'Adding a strategy to the engine'],
])('the tables and lists of %s, %s', (document, heading) => {
  const named = [...listsOf(document, heading).matchAll(/`([\w./-]+)`/g)].map(([, word]) => word as string)
  const paths = named.filter((word) => word.includes('/'))

  it('names only paths that exist', () => {
    expect(paths.length).toBeGreaterThan(10)
    const isMissing = (path: string) =>
      !existsSync(join(root, 'packages', path)) && !existsSync(join(root, path))
    expect(paths.filter(isMissing)).toEqual([])
  })

  it('names files by their whole path', () => {
    expect(named.filter((word) => /\.(ts|tsx|mjs|md)$/.test(word) && !word.includes('/'))).toEqual([])
  })
})
