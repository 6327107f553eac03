// Writes the last run of each fuzz target to docs/trust.md: `npm run report:fuzz`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFuzzTargets } from '../fuzz-targets.mjs'
import { root } from '../packages.mjs'
import { readFuzzResult } from './fuzz-results.mjs'
import { updateFuzzSection } from './fuzz-table.mjs'

const page = join(root, 'docs/trust.md')
const BEGIN = '<!-- fuzz runs: written by npm run report:fuzz; the properties are written by hand -->'
const END = '<!-- end of the fuzz runs -->'

const names = [...findFuzzTargets().keys()]
const results = new Map(
  names.flatMap((name) => {
    const result = readFuzzResult(name)
    return result === undefined ? [] : [/** @type {const} */ ([name, result])]
  }),
)
const text = readFileSync(page, 'utf8')
const [before, rest] = text.split(BEGIN)
const [section, after] = rest?.split(END) ?? []
if (section === undefined || after === undefined)
  throw new Error(`${page}: expected the lines ${BEGIN} and ${END}`)
const updated = updateFuzzSection(section, names, results)
writeFileSync(page, `${before}${BEGIN}\n\n${updated}\n\n${END}${after}`)
console.log(updated)
