import { cockatiel, effect, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { succeed } from '../work.mjs'
import { RATIO, successes } from './against-bare.mjs'

/** @type {import('./index.mjs').Case} */
export const timeouts = {
  name: 'timeouts',
  title: 'Retry, breaker, a timeout per attempt and one per call, a call that succeeds',
  note:
    'Against a bare `await fn()`. Each library has a timer or a deadline for the attempt and another for the ' +
    'whole call, except p-retry, which checks the time between attempts only.',
  metrics: RATIO,
  rounds: 3,
  subjects: [
    {
      label: 'holdfast, wrapped function',
      bounds: { ratio: 6.5 },
      measure: async () => successes((await holdfast()).wrap.withTimeouts(succeed)),
    },
    {
      label: 'holdfast, run(fn)',
      bounds: { ratio: 6.5 },
      measure: async () => successes((await holdfast()).run.withTimeouts(succeed)),
    },
    {
      label: 'cockatiel',
      measure: async () => successes((await cockatiel()).withTimeouts(succeed)),
    },
    {
      label: 'opossum + p-retry',
      measure: async () => successes((await opossum()).withTimeouts(succeed)),
    },
    {
      label: 'mollitia, window of 10 calls',
      measure: async () => successes((await mollitia()).withTimeouts(succeed)),
    },
    {
      label: 'Effect, window of 100 calls',
      measure: async () => successes(await (await effect()).withTimeouts(succeed)),
    },
  ],
}
