import { holdfast } from '../libraries/index.mjs'
import { bareCalls, bareFailures } from '../measure/bare.mjs'
import { failing, succeeding } from '../measure/loops.mjs'
import { failMade, succeed } from '../work.mjs'

/**
 * @param {import('../measure/batch.mjs').Batch} bare
 * @param {import('../measure/batch.mjs').Batch} subject
 */
const around = async (bare, subject) => ({
  samples: await (await import('../measure/collection.mjs')).aroundCollections(bare, subject),
})

/** @type {import('./index.mjs').Case} */
export const collection = {
  name: 'collection',
  title: 'After a full garbage collection',
  note:
    'The first 2 ms of calls after full garbage collections with no call in flight, against bare calls. V8 ' +
    'discards code that was compiled for classes without a live instance, so Holdfast keeps an instance of ' +
    'each.',
  metrics: [
    { key: 'before', title: '× bare, before', unit: 'times' },
    { key: 'after', title: '× bare, after', unit: 'times', spread: true },
  ],
  rounds: 3,
  subjects: [
    {
      label: 'wrapped function that succeeds',
      bounds: { after: 3 },
      measure: async () => around(bareCalls, succeeding((await holdfast()).wrap.retryAndBreaker(succeed))),
    },
    {
      label: 'the same with timeouts',
      bounds: { after: 9 },
      measure: async () => around(bareCalls, succeeding((await holdfast()).wrap.withTimeouts(succeed))),
    },
    {
      label: 'refusal by an open breaker',
      bounds: { after: 45 },
      measure: async () => around(bareCalls, failing((await holdfast()).run.refusing(succeed).call)),
    },
    {
      label: 'three immediate failing attempts',
      bounds: { after: 2 },
      measure: async () =>
        around(bareFailures.made.alone, failing((await holdfast()).wrap.immediateRetry(failMade))),
    },
    {
      label: 'hf.run(operation, fn)',
      bounds: { after: 7.5 },
      async measure() {
        const hf = await (await import('../measure/runtime.mjs')).open()
        const measured = await around(
          bareCalls,
          succeeding(() => hf.run('quick', succeed)),
        )
        await hf.close()
        return measured
      },
    },
  ],
}
