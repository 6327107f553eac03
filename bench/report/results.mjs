import { availableParallelism } from 'node:os'
import { RIVALS, versionOf } from '../libraries/packages.mjs'
import { summary } from './summary.mjs'
import { table } from './table.mjs'

export const environment = () => ({
  node: process.versions.node,
  processors: availableParallelism(),
  versions: Object.fromEntries(['holdfast', ...RIVALS].map((name) => [name, versionOf(name)])),
})

/**
 * RESULTS.md.
 *
 * @param {import('./summary.mjs').Result[]} results
 */
export function resultsPage(results) {
  const { node, processors, versions } = environment()
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `# Results

Written by \`npm run bench\`; [how it measures](README.md). Node ${node}, ${processors} processors; ${named.join(', ')}.

A ratio compares a call with the bare code that is measured alternately with it. Ratios can be compared between machines; times,
and the order of rows with similar figures, cannot. Each figure is a median. Its spread is the middle half of the samples: if a
bound lies within the spread, repeat the run on an idle machine before you draw a conclusion. Lower is better.

${summary(results).join('\n')}

${results.map(({ one, rows }) => `## ${one.title}\n\n\`${one.name}\`. ${one.note}\n\n${table(one, rows)}`).join('\n\n')}
`
}
