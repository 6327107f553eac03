import { byHand, cockatiel, holdfast, pRetry } from '../libraries/index.mjs'
import { ATTEMPTS } from '../libraries/settings.mjs'
import { bareFailures } from '../measure/bare.mjs'
import { failingTogether, failing as oneByOne } from '../measure/loops.mjs'
import { pairs } from '../measure/pairs.mjs'
import { mustReject, RATIO } from './against-bare.mjs'

/** @typedef {(fn: import('../work.mjs').Work) => import('../measure/loops.mjs').Call} Retrying */

/** @type {{ label: string, bounded?: boolean, load: () => Promise<Retrying> }[]} */
const libraries = [
  {
    label: 'holdfast, wrapped function',
    bounded: true,
    load: async () => (await holdfast()).wrap.immediateRetry,
  },
  { label: 'holdfast, run(fn)', bounded: true, load: async () => (await holdfast()).run.immediateRetry },
  { label: 'by hand: a loop', load: async () => (await byHand()).immediateRetry },
  { label: 'p-retry', load: async () => (await pRetry()).immediateRetry },
  { label: 'cockatiel', load: async () => (await cockatiel()).immediateRetry },
]

/**
 * @param {'made' | 'fresh'} errors
 * @param {'alone' | 'together'} company
 * @param {() => Promise<Retrying>} load
 */
async function measure(errors, company, load) {
  const { fail, [company]: bare } = bareFailures[errors]
  const retrying = await load()
  let attempts = 0
  await mustReject(
    retrying(() => {
      attempts++
      return fail()
    }),
  )
  if (attempts !== ATTEMPTS) throw new Error(`it makes ${attempts} attempts instead of ${ATTEMPTS}`)
  const call = retrying(fail)
  return {
    samples: await pairs(bare, company === 'alone' ? oneByOne(call) : failingTogether(call, bare.calls)),
  }
}

/**
 * @param {string} name
 * @param {'made' | 'fresh'} errors
 * @param {'alone' | 'together'} company
 * @returns {import('./index.mjs').Case}
 */
function failingCase(name, errors, company) {
  const how = company === 'alone' ? 'one call at a time' : '1,000 concurrent calls'
  const thrown = errors === 'made' ? 'an error created before' : 'a fresh error per attempt'
  return {
    name,
    title: `Three failing attempts without delay, ${how}, ${thrown}`,
    note:
      'Against three bare `try { await fn() } catch {}`. A delay of zero is a timer in cockatiel: 1 ms per ' +
      'retry, shared by calls that run together.',
    metrics: RATIO,
    rounds: 2,
    subjects: libraries.map(({ label, bounded, load }) => ({
      label,
      ...(bounded ? { bounds: { ratio: 1.3 } } : {}),
      measure: () => measure(errors, company, load),
    })),
  }
}

export const failing = [
  failingCase('failing', 'made', 'alone'),
  failingCase('failing-together', 'made', 'together'),
  failingCase('failing-fresh', 'fresh', 'alone'),
  failingCase('failing-fresh-together', 'fresh', 'together'),
]
