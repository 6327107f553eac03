// Writes the last run of each fuzz target to docs/trust.md: `npm run report:fuzz`.
import { join } from 'node:path'
import { findFuzzTargets } from '../fuzz-targets.mjs'
import { root } from '../packages.mjs'
import { readFuzzResult } from './fuzz-results.mjs'
import { updateFuzzSection } from './fuzz-table.mjs'
import { replaceSection } from './section.mjs'

const MARKERS = {
  begin: '<!-- fuzz runs: written by npm run report:fuzz; the properties are written by hand -->',
  end: '<!-- end of the fuzz runs -->',
}

const names = [...findFuzzTargets().keys()]
const results = new Map(
  names.flatMap((name) => {
    const result = readFuzzResult(name)
    return result === undefined ? [] : [/** @type {const} */ ([name, result])]
  }),
)
const update = (/** @type {string} */ section) => updateFuzzSection(section, names, results)
console.log(replaceSection(join(root, 'docs/trust.md'), MARKERS, update))
