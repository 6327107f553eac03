import { byHand, cockatiel, effect, holdfast, mollitia, opossum } from '../libraries/index.mjs'
import { succeed } from '../work.mjs'
import { RATIO, refusals } from './against-bare.mjs'

/** How far a hint may be from the time at which the breaker really lets a call through, in milliseconds. */
const TOLERANCE = 5

/**
 * @param {{ call: import('../measure/loops.mjs').Call, nextTestTime: () => number }} refusing
 * @returns {Promise<import('./index.mjs').Measured>}
 */
async function ours({ call, nextTestTime }) {
  const first = await errorOf(call)
  const second = await errorOf(call)
  const left = nextTestTime() - Date.now()
  return {
    ...(await refusals(call)),
    checks: {
      'an error of its own':
        first !== second && first.code === 'CIRCUIT_OPEN' && second.code === 'CIRCUIT_OPEN',
      'the right retryAfter': Math.abs(second.retryAfter - left) < TOLERANCE && left > 0,
    },
  }
}

/**
 * @param {import('../measure/loops.mjs').Call} call
 * @returns {Promise<{ code: string, retryAfter: number }>}
 */
async function errorOf(call) {
  try {
    await call()
  } catch (error) {
    return /** @type {any} */ (error)
  }
  throw new Error('it does not refuse')
}

/** @type {import('./index.mjs').Case} */
export const refusal = {
  name: 'refusal',
  title: 'A call that an open breaker rejects',
  note:
    'Against a bare `await fn()` that succeeds. Holdfast rejects through a guard with retry and breaker; the ' +
    'others are measured at the breaker itself, without a retry. The errors of the others have a stack trace; ' +
    'besides Holdfast only Effect reports when to retry.',
  metrics: RATIO,
  rounds: 3,
  subjects: [
    {
      label: 'holdfast, wrapped function',
      bounds: { ratio: 30 },
      measure: async () => ours((await holdfast()).wrap.refusing(succeed)),
    },
    {
      label: 'holdfast, run(fn)',
      bounds: { ratio: 30 },
      measure: async () => ours((await holdfast()).run.refusing(succeed)),
    },
    { label: 'by hand: throw new Error()', measure: async () => refusals((await byHand()).refusing()) },
    { label: 'cockatiel', measure: async () => refusals(await (await cockatiel()).refusing(succeed)) },
    { label: 'opossum', measure: async () => refusals((await opossum()).refusing(succeed)) },
    { label: 'mollitia', measure: async () => refusals((await mollitia()).refusing(succeed)) },
    { label: 'Effect', measure: async () => refusals(await (await effect()).refusing(succeed)) },
  ],
}
