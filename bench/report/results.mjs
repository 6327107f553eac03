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

A ratio says how many times as long a call takes as the bare thing measured in turns with it: it travels between machines;
the times and the order of close neighbours do not. Each figure is a median, its spread the middle half of the samples: where
a bound lies within the spread, run it again on a quieter machine before believing either answer. Less is better everywhere.

${summary(results).join('\n')}

${results.map(({ one, rows }) => `## ${one.title}\n\n\`${one.name}\`. ${one.note}\n\n${table(one, rows)}`).join('\n\n')}
`
}
