import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../scripts/packages.mjs'

const folder = join(root, 'bench/cases')

/** The names of all benchmarks. They are read as text, because the libraries they compare are not installed here. */
const caseNames = readdirSync(folder).flatMap((file) =>
  [...readFileSync(join(folder, file), 'utf8').matchAll(/^ +name: '([a-z-]+)',$/gm)].map(([, name]) => name),
)

it('finds the names of benchmarks', () => {
  expect(caseNames).toEqual(expect.arrayContaining(['success', 'pool-guard', 'sqlite-stalls', 'sizes']))
})

it('bench/RESULTS.md has the result of every benchmark: npm run bench writes it', () => {
  const results = readFileSync(join(root, 'bench/RESULTS.md'), 'utf8')
  expect(caseNames.filter((name) => !results.includes(`\n\`${name}\`. `))).toEqual([])
})
