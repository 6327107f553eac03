import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../scripts/packages.mjs'

const folder = join(root, 'docs/recipes')
const read = (name: string) => readFileSync(join(folder, name), 'utf8').replaceAll(/```[\s\S]*?```/g, '')

/** The id that GitHub and VitePress give to a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')

const pages = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'index.md')

it('the index of the recipes lists every question of every page, and no other', () => {
  const questions = pages.flatMap((page) =>
    [...read(page).matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => `[${heading}](${page}#${anchorOf(heading)})`,
    ),
  )
  const listed = [...read('index.md').matchAll(/^\d+\. (\[.+\]\(.+\))$/gm)].map(([, link]) => link)
  expect(new Set(listed)).toEqual(new Set(questions))
  expect(listed.length).toBeGreaterThanOrEqual(50)
})

it.each(pages)('each recipe in %s names the most common mistake', (page) => {
  const [, ...recipes] = read(page).split(/^## /m)
  expect(recipes.filter((text) => !text.includes('**Common mistake.**'))).toEqual([])
})
