// Writes the last series of `npm run test:stability` to docs/trust.md: `npm run report:stability`. Series that ran at the same time
// in several clones are given by their files: `npm run report:stability -- --results a.json --results b.json`.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../packages.mjs'
import { readSeries } from '../stability/series.mjs'
import { replaceSection } from './section.mjs'
import { describeSeries } from './stability-table.mjs'

const MARKERS = {
  begin: '<!-- stability runs: written by npm run report:stability -->',
  end: '<!-- end of the stability runs -->',
}

const { values } = parseArgs({
  options: { results: { type: 'string', multiple: true, default: [join(root, '.cache/stability.json')] } },
})
const section = describeSeries(values.results.map(readSeries))
console.log(replaceSection(join(root, 'docs/trust.md'), MARKERS, () => section))
