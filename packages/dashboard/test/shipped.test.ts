import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { built } from './test-server.mjs'

/** All that a first visit loads, gzipped. */
const LIMIT = 120_000

describe('the built dashboard', () => {
  it('is within its size limit', () => {
    const files = readdirSync(built, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    const sizes = files.map((file) => gzipSync(readFileSync(join(file.parentPath, file.name))).length)
    expect(files.length).toBeGreaterThanOrEqual(3)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT)
  })

  it('has no inline script and no external resources', () => {
    const html = readFileSync(join(built, 'index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\bsrc="\/)/)
    expect(html).not.toMatch(/\b(src|href)="(?!\/)/)
    expect(html).not.toMatch(/\son\w+=|style=/)
  })
})
