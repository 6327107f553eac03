import { createCheapError, type HoldfastError } from '../errors.js'

const HTTP_UNAVAILABLE = 503

/** The error for a call that finds nobody; `retryAfter` is Infinity where nobody will be back by waiting. */
export function createPoolUnavailableError(id: string, size: number, retryAfter: number): HoldfastError {
  const isKnown = retryAfter < Infinity
  const hint = isKnown ? `; try again in ${Math.ceil(retryAfter)} ms` : ''
  const message = `none of the ${size} members of the pool ${id} is available${hint}`
  return createCheapError('POOL_UNAVAILABLE', message, {
    status: HTTP_UNAVAILABLE,
    retryAfter: isKnown ? retryAfter : undefined,
  })
}

/** The error for a call that cannot go out at all. */
export function createNetworkDownError(id: string, retryAfter: number): HoldfastError {
  const message = `most members of the pool ${id} cannot be reached: the network at this end seems to be down`
  return createCheapError('NETWORK_DOWN', message, { status: HTTP_UNAVAILABLE, retryAfter })
}
