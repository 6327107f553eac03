// The site: every page is in the sidebar, and every link leads to a file and a heading that exist.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  pagesBelow,
  projectFiles,
  projectSlug,
  resolveLink,
  sidebar,
  siteLinkOf,
  slugify,
  UNLISTED,
} from '../scripts/docs/site.mjs'
import { root } from '../scripts/packages.mjs'

const withoutCode = (text: string) =>
  text.replaceAll(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '').replaceAll(/`[^`\n]*`/g, '`code`')

/** The anchors of the headings of a file; a repeated heading gets a number. */
function anchorsOf(file: string): Set<string> {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '')
  const seen = new Map<string, number>()
  const headings = [...text.matchAll(/^#{1,6} +(.+?)(?: *\{#([\w-]+)\})?$/gm)].map(
    ([, heading = '', id]) => id ?? slugify(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')),
  )
  return new Set(
    headings.map((slug) => {
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    }),
  )
}

const linksOf = (file: string): string[] => [
  ...[
    ...withoutCode(readFileSync(join(root, file), 'utf8')).matchAll(/\]\(([^()\s]+(?:\([^()]*\))?)\)/g),
  ].map(([, href]) => href as string),
  ...[...readFileSync(join(root, file), 'utf8').matchAll(/^ +link: (\/.*)$|[ {]link: (\/[^ ,}]*)/gm)].map(
    ([, block, flow]) => (block ?? flow) as string,
  ),
]

const pages = pagesBelow()

describe('the sidebar', () => {
  const groups = sidebar()
  const listed = Object.values(groups).flatMap((each) =>
    each.flatMap(({ items }) => items.map(({ link }) => link)),
  )

  it('lists every page of docs/: add a flat page to docs/README.md', () => {
    const missing = pages.filter((file) => !UNLISTED.includes(file) && !listed.includes(siteLinkOf(file)))
    expect(missing).toEqual([])
  })

  it('lists every folder with pages in docs/README.md', () => {
    const folders = pages.filter((file) => /^docs\/[^/]+\/index\.md$/.test(file)).map(siteLinkOf)
    expect(folders.filter((link) => !(link in groups))).toEqual([])
  })

  it('has an index page in every folder', () => {
    const folders = new Set(
      pages.map((file) => file.match(/^docs\/(?!project\/)[^/]+\//)?.[0]).filter(Boolean),
    )
    expect([...folders].filter((folder) => !pages.includes(`${folder}index.md`))).toEqual([])
  })

  it('links to nothing else', () => {
    const known = [
      '/',
      ...pages.map(siteLinkOf),
      ...projectFiles().map((file) => `/project/${projectSlug(file)}`),
    ]
    expect(listed.filter((link) => !known.includes(link))).toEqual([])
  })
})

describe('links', () => {
  it.each(['README.md', ...pages, ...projectFiles()])(
    'of %s lead to files and headings that exist',
    (source) => {
      const broken = linksOf(source).filter((href) => {
        if (href.startsWith('#')) return !anchorsOf(source).has(href.slice(1))
        const target = resolveLink(source, href)
        if (target === undefined) return false
        if (!existsSync(join(root, target.file))) return true
        return target.anchor !== '' && !anchorsOf(target.file).has(target.anchor.slice(1))
      })
      expect(broken).toEqual([])
    },
  )
})
