import pRetry from 'p-retry'
import { RETRIES } from './settings.mjs'

export function immediateRetry(/** @type {import('../work.mjs').Work} */ fn) {
  const options = { retries: RETRIES, minTimeout: 0 }
  return () => pRetry(fn, options)
}
