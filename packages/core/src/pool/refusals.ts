import { type HoldfastError, refusal } from '../errors.js'

const STATUS = 503

/** The error for a call that finds nobody; `retryAfter` is Infinity where nobody will be back by waiting. */
export function poolUnavailable(id: string, size: number, retryAfter: number): HoldfastError {
  const known = retryAfter < Infinity
  const hint = known ? `; try again in ${Math.ceil(retryAfter)} ms` : ''
  const message = `none of the ${size} members of the pool ${id} is available${hint}`
  return refusal('POOL_UNAVAILABLE', message, { status: STATUS, retryAfter: known ? retryAfter : undefined })
}

/** The error for a call that cannot go out at all. */
export function networkDown(id: string, retryAfter: number): HoldfastError {
  const message = `most members of the pool ${id} cannot be reached: the network at this end seems to be down`
  return refusal('NETWORK_DOWN', message, { status: STATUS, retryAfter })
}
