import { byHand, cockatiel, effect, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { succeed } from '../work.mjs'
import { RATIO, successes } from './against-bare.mjs'

/** @type {import('./index.mjs').Case} */
export const success = {
  name: 'success',
  title: 'Retry and a rolling-window breaker, a call that succeeds',
  note:
    'Against a bare `await fn()`. A guard with its own clock reads it in every call. With the system clock, ' +
    'calls that follow each other within microseconds share one reading, as these do; calls further apart do ' +
    'not.',
  metrics: RATIO,
  rounds: 3,
  subjects: [
    {
      label: 'holdfast, wrapped function',
      bounds: { ratio: 2 },
      measure: async () => successes((await holdfast()).wrap.retryAndBreaker(succeed)),
    },
    {
      label: 'holdfast, run(fn)',
      bounds: { ratio: 2.6 },
      measure: async () => successes((await holdfast()).run.retryAndBreaker(succeed)),
    },
    {
      label: 'holdfast, wrapped function, own clock',
      measure: async () => successes((await holdfast()).wrap.withOwnClock(succeed)),
    },
    {
      label: 'by hand: a loop and a counter',
      measure: async () => successes((await byHand()).retryAndBreaker(succeed)),
    },
    {
      label: 'cockatiel',
      measure: async () => successes((await cockatiel()).retryAndBreaker(succeed)),
    },
    {
      label: 'opossum + p-retry',
      measure: async () => successes((await opossum()).retryAndBreaker(succeed)),
    },
    {
      label: 'mollitia, window of 10 calls',
      measure: async () => successes((await mollitia()).retryAndBreaker(succeed)),
    },
    {
      label: 'mollitia, window of 60 s',
      measure: async () => successes((await mollitia()).retryAndTimeBreaker(succeed)),
    },
    {
      label: 'Effect, window of 100 calls',
      measure: async () => successes(await (await effect()).retryAndBreaker(succeed)),
    },
  ],
}
