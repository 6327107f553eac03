import { cockatiel, effect, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { load as measureLoad } from '../measure/load.mjs'
import { succeedBehindGate } from '../work.mjs'

/** @param {import('../measure/loops.mjs').Call} call */
const underLoad = async (call) => ({ samples: await measureLoad(call) })

/** @type {import('./index.mjs').Case} */
export const load = {
  name: 'load',
  title: 'Retry, breaker and timeouts, by the number of calls in flight',
  note:
    'The time of one call with 64 calls in flight, and the factor by which it grows with more calls. The bare ' +
    'call shows which part of the growth is the memory of the machine.',
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
