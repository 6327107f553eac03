import { bareCalls } from '../measure/bare.mjs'
import { failing, succeeding } from '../measure/loops.mjs'
import { pairs } from '../measure/pairs.mjs'
import { VALUE } from '../work.mjs'

/** @type {import('./index.mjs').Metric[]} */
export const RATIO = [
  { key: 'perCall', title: 'per call', unit: 'nanoseconds' },
  { key: 'ratio', title: '× bare', unit: 'times', spread: true },
]

/**
 * Calls that succeed, against `await fn()`.
 *
 * @param {import('../measure/loops.mjs').Call} call
 */
export async function successes(call) {
  if ((await call()) !== VALUE) throw new Error('it does not hand on what the function returns')
  return { samples: await pairs(bareCalls, succeeding(call)) }
}

/**
 * Calls that are refused, against `await fn()`.
 *
 * @param {import('../measure/loops.mjs').Call} call
 */
export async function refusals(call) {
  await mustReject(call)
  return { samples: await pairs(bareCalls, failing(call)) }
}

/** @param {import('../measure/loops.mjs').Call} call */
export async function mustReject(call) {
  const failed = await call().then(
    () => false,
    () => true,
  )
  if (!failed) throw new Error('it does not fail')
}
