import { cockatiel, effect, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { load as measureLoad } from '../measure/load.mjs'
import { succeedBehindGate } from '../work.mjs'

/** @param {import('../measure/loops.mjs').Call} call */
const underLoad = async (call) => ({ samples: await measureLoad(call) })

/** @type {import('./index.mjs').Case} */
export const load = {
  name: 'load',
  title: 'The same with timeouts, by how many calls are in flight',
  note:
    'The cost of one call with 64 in flight, and how many times as much with more; the bare call shows how much of ' +
    'that is the memory of the machine.',
  metrics: [
    { key: 'few', title: 'per call at 64', unit: 'nanoseconds' },
    { key: 'many', title: '1,000 ÷ 64', unit: 'times', spread: true },
    { key: 'most', title: '10,000 ÷ 64', unit: 'times', spread: true },
  ],
  rounds: 2,
  subjects: [
    { label: 'bare', measure: () => underLoad(succeedBehindGate) },
    {
      label: 'holdfast, wrapped function',
      bounds: { most: 1.5 },
      measure: async () => underLoad((await holdfast()).wrap.withTimeouts(succeedBehindGate)),
    },
    {
      label: 'holdfast, run(fn)',
      bounds: { most: 1.5 },
      measure: async () => underLoad((await holdfast()).run.withTimeouts(succeedBehindGate)),
    },
    {
      label: 'cockatiel',
      measure: async () => underLoad((await cockatiel()).withTimeouts(succeedBehindGate)),
    },
    {
      label: 'opossum + p-retry',
      measure: async () => underLoad((await opossum()).withTimeouts(succeedBehindGate)),
    },
    {
      label: 'mollitia, window of 10 calls',
      measure: async () => underLoad((await mollitia()).withTimeouts(succeedBehindGate)),
    },
    {
      label: 'Effect, window of 100 calls',
      measure: async () => underLoad(await (await effect()).withTimeouts(succeedBehindGate)),
    },
  ],
}
