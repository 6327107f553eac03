import { type Classification, classify } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { AwsErrorInfo } from './types.js'

/**
 * Classifies an error by the type that the SDK gives it: it knows the error codes of each service. Other errors are classified
 * by the engine, but one that neither recognises is not retried. `wall` is the clock for Retry-After.
 */
export function classifySdkError(
  { error, errorType, retryAfterHint }: AwsErrorInfo,
  wall: () => number,
): Classification {
  const known = classify(error, wall)
  // The SDK computes the hint from the time of the machine.
  const hint = retryAfterHint && Math.max(0, retryAfterHint.getTime() - systemClock.wall())
  const retryAfter = known.retryAfter ?? hint
  return { ...known, ...byErrorType(known, errorType), ...(retryAfter !== undefined && { retryAfter }) }
}

function byErrorType(
  { category, kind }: Classification,
  type: AwsErrorInfo['errorType'],
): Partial<Classification> {
  switch (type) {
    case 'THROTTLING':
      return { category: 'transient', kind: 'rate_limited' }
    case 'TRANSIENT':
      return category === 'transient' ? {} : { category: 'transient', kind: 'server_error' }
    case 'SERVER_ERROR':
      return {}
    case 'CLIENT_ERROR':
      return kind === 'unknown' ? { category: 'permanent' } : {}
  }
}
