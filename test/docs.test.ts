// Every example in the documents and doc comments: type-checked, and run against the built packages.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findExamples } from '../scripts/docs/extract.mjs'
import { writeModule } from '../scripts/docs/run.mjs'
import { typeErrors } from '../scripts/docs/typecheck.mjs'
import { root } from '../scripts/packages.mjs'

// Within the repository, so that package names resolve; one for each run, so that two can run at once.
mkdirSync(join(root, '.cache'), { recursive: true })
const folder = mkdtempSync(join(root, '.cache/docs-'))
afterAll(() => rmSync(folder, { recursive: true }))

const examples = findExamples(root)
const problems = typeErrors(root, examples)

for (const example of examples) {
  test(`${example.file}:${example.line}${example.run ? '' : ' (not run)'}`, async () => {
    const wrong = problems.get(example)
    if (wrong !== undefined) throw new TypeError(wrong.join('\n'))
    if (example.run) await import(writeModule(folder, example))
  })
}

test('there are examples', () => {
  expect(examples.length).toBeGreaterThan(0)
})
