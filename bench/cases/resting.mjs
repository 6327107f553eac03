import { cockatiel, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { heap } from '../measure/heap.mjs'

const OURS = 100_000
/** The others hold more, and one of them starts timers. */
const THEIRS = 2000

const bounds = { bytes: 200, construction: 500, timers: 0 }

/** @type {import('./index.mjs').Case} */
export const resting = {
  name: 'resting',
  title: 'An idle breaker',
  note:
    `Holdfast: ${OURS.toLocaleString('en')} breakers with default options; ids are created before and not counted. Other ` +
    `libraries: ${THEIRS.toLocaleString('en')}. All objects stay alive during the construction, so its time includes garbage ` +
    'collection, which is the largest part and grows with the number of objects.',
  metrics: [
    { key: 'bytes', title: 'heap', unit: 'bytes', spread: true },
    { key: 'construction', title: 'construction', unit: 'nanoseconds', spread: true },
    { key: 'constructor', title: 'constructor alone', unit: 'nanoseconds' },
    { key: 'timers', title: 'timers', unit: 'count' },
  ],
  rounds: 2,
  subjects: [
    {
      label: 'holdfast',
      bounds,
      measure: async () => ({ samples: heap((await holdfast()).restingBreaker, OURS) }),
    },
    {
      label: 'holdfast, with an id',
      bounds,
      async measure() {
        const { restingBreakerWithId } = await holdfast()
        const ids = Array.from({ length: OURS }, (_, index) => `service:${index}`)
        return { samples: heap((index) => restingBreakerWithId(ids[index] ?? ''), OURS) }
      },
    },
    {
      label: 'cockatiel, window of 60 s',
      measure: async () => ({ samples: heap((await cockatiel()).restingBreaker, THEIRS) }),
    },
    {
      label: 'opossum',
      measure: async () => ({ samples: heap((await opossum()).restingBreaker, THEIRS) }),
    },
    {
      label: 'mollitia',
      measure: async () => ({ samples: heap((await mollitia()).restingBreaker, THEIRS) }),
    },
  ],
}
