import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { replaceSection } from '../report/section.mjs'

const MARKERS = { begin: '<!-- begin -->', end: '<!-- end -->' }

let folder: string
let page: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-section-'))
  page = join(folder, 'page.md')
})
afterEach(() => rmSync(folder, { recursive: true }))

it('replaces the text between the comments, and nothing else', () => {
  writeFileSync(page, 'before\n<!-- begin -->\n\nold\n\n<!-- end -->\nafter\n')
  expect(replaceSection(page, MARKERS, (old) => `${old.trim()} and new`)).toBe('old and new')
  expect(readFileSync(page, 'utf8')).toBe('before\n<!-- begin -->\n\nold and new\n\n<!-- end -->\nafter\n')
})

it('rejects a page without the comments, and does not change it', () => {
  writeFileSync(page, '<!-- end -->\n<!-- begin -->\n')
  expect(() => replaceSection(page, MARKERS, () => 'new')).toThrow(
    `${page}: expected the lines <!-- begin --> and <!-- end -->`,
  )
  expect(readFileSync(page, 'utf8')).toBe('<!-- end -->\n<!-- begin -->\n')
})
