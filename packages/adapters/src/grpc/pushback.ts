import type { GrpcMetadata } from './types.js'

const PUSHBACK_HEADER = 'grpc-retry-pushback-ms'
const MAX_INT32 = 2 ** 31 - 1

/**
 * The delay that a server requests by `grpc-retry-pushback-ms` in its trailers: milliseconds, `'stop'` where the server allows
 * no retry (a negative value, or one that is not a number of 32 bits), or undefined without a request.
 */
export function parsePushback(metadata: GrpcMetadata): number | 'stop' | undefined {
  const [value] = metadata.get(PUSHBACK_HEADER)
  if (value === undefined) return undefined
  const delay = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN
  return delay <= MAX_INT32 ? delay : 'stop'
}
