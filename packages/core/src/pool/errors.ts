import { createCheapError, type HoldfastError } from '../errors.js'

const HTTP_UNAVAILABLE = 503

/** The error of a call for which no member is available; `retryAfter` is Infinity when waiting will not help. */
export function createPoolUnavailableError(id: string, size: number, retryAfter: number): HoldfastError {
  const isKnown = retryAfter < Infinity
  const hint = isKnown ? `; retry in ${Math.ceil(retryAfter)} ms` : ''
  const message = `none of the ${size} members of the pool ${id} is available${hint}`
  return createCheapError('POOL_UNAVAILABLE', message, {
    status: HTTP_UNAVAILABLE,
    retryAfter: isKnown ? retryAfter : undefined,
  })
}

/** The error of a call that is rejected because the local network is down. */
export function createNetworkDownError(id: string, retryAfter: number): HoldfastError {
  const message = `most members of the pool ${id} cannot be reached: the local network seems to be down`
  return createCheapError('NETWORK_DOWN', message, { status: HTTP_UNAVAILABLE, retryAfter })
}
