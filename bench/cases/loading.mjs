import { dependenciesOf } from '../libraries/packages.mjs'
import { size } from '../measure/size.mjs'
import { importCost } from '../measure/spawns.mjs'

const OURS = 20
/** Bigger differences need fewer looks. */
const THEIRS = 8

/**
 * @param {number} times
 * @param {string[]} modules what a program imports
 * @param {string} source a module that uses what a retry, a breaker and timeouts need of them
 * @returns {() => Promise<import('./index.mjs').Measured>}
 */
const loaded = (times, modules, source) => async () => ({
  samples: {
    ...importCost(modules, times),
    size: [await size(source)],
    dependencies: [modules.flatMap(dependenciesOf).length],
  },
})

/** @param {string} file one of `libraries/` */
const asMeasured = (file) => `export { withTimeouts } from '../libraries/${file}.mjs'`

/** @type {import('./index.mjs').Case} */
export const loading = {
  name: 'loading',
  title: 'Loading the library',
  note:
    'The additional time of a Node process that imports the library, compared with an empty script: wall time, ' +
    'which is exact on an idle machine only, and processor time, which the bound applies to. The size of ' +
    'retry, breaker and timeouts, bundled, minified and gzipped: for Holdfast everything that `guard` ' +
    'supports, for the others the parts that these benchmarks use.',
  metrics: [
    { key: 'wall', title: 'import, by the clock', unit: 'milliseconds', spread: true },
    { key: 'processor', title: 'import, processor', unit: 'milliseconds', spread: true },
    { key: 'size', title: 'size', unit: 'bytes' },
    { key: 'dependencies', title: 'dependencies', unit: 'count' },
  ],
  rounds: 1,
  subjects: [
    {
      label: 'holdfast',
      bounds: { processor: 15, size: 9000, dependencies: 0 },
      measure: loaded(OURS, ['holdfast'], `export { guard } from 'holdfast'`),
    },
    { label: 'cockatiel', measure: loaded(THEIRS, ['cockatiel'], asMeasured('cockatiel')) },
    { label: 'opossum + p-retry', measure: loaded(THEIRS, ['opossum', 'p-retry'], asMeasured('opossum')) },
    { label: 'mollitia', measure: loaded(THEIRS, ['mollitia'], asMeasured('mollitia')) },
    { label: 'Effect', measure: loaded(THEIRS, ['effect', 'effect/persistence'], asMeasured('effect')) },
  ],
}
