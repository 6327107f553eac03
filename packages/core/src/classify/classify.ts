import { systemClock } from '../clock.js'
import { isHoldfastError } from '../errors.js'
import { MAX_CHAIN_LENGTH } from './cause-chain.js'
import {
  CANCELLED,
  type Classification,
  type ErrorLike,
  isErrorLike,
  PERMANENT_UNKNOWN,
  PROGRAMMING_ERROR,
  TIMEOUT,
  UNKNOWN,
} from './classification.js'
import { byCode } from './error-codes.js'
import { byMessage, byName } from './error-names.js'
import { byGrpcStatus } from './grpc.js'
import { byHttpStatus, httpStatusOf } from './http.js'
import { byMongo } from './mongodb.js'
import { byOwnCode } from './own-errors.js'
import { isRateLimited, parseRetryAfter, type WallTime } from './retry-after.js'
import { bySqlState } from './sql.js'
import { byValidationIssues } from './validation.js'

let visitCount = 0

/** Whether a value is an error of this realm or another. A Proxy that throws counts as none. */
function isErrorObject(value: unknown): boolean {
  try {
    return value instanceof Error || /Error|DOMEx/.test(Object.prototype.toString.call(value))
  } catch {
    return false
  }
}

/**
 * Classifies an HTTP error. GitHub reports rate limits by headers with status 403; AWS services report throttling and timeouts
 * by name with status 400.
 */
function byHttpError(error: ErrorLike, status: number): Classification {
  const classification = byHttpStatus(status)
  if (status === 403 && isRateLimited(error)) return { ...byHttpStatus(429), httpStatus: status }
  const { $metadata, $retryable, name, isRetryable } = error
  const { category } = classification
  // A provider of the AI SDK has read the response, so that it knows more than the status says.
  const isOverruled = name === 'AI_APICallError' && isRetryable === (category === 'permanent')
  if (isOverruled && category === 'transient') return { ...classification, category: 'permanent' }
  // Once the AWS SDK has adjusted its clock, the next request has a valid signature.
  const isClockCorrected = isErrorLike($metadata) && $metadata.clockSkewCorrected
  if ((isOverruled && isRetryable) || isClockCorrected) return { ...UNKNOWN, httpStatus: status }
  if ($metadata === undefined) return classification
  const byName = isErrorLike($retryable)
    ? byCode($retryable.throttling ? 'Throttling' : 'http:503')
    : byCode(`${name}`)
  return byName?.category === 'transient' ? { ...byName, httpStatus: status } : classification
}

/** Whether an error is a bare `new Error(message)`, as most thrown errors are: only its message can be inspected. */
const isBareError = (error: ErrorLike): boolean =>
  error.code === undefined && // checked first, because listing the properties is slow and system errors have a code
  Object.getPrototypeOf(error) === Error.prototype &&
  Object.getOwnPropertyNames(error).every((name) => name === 'stack' || name === 'message')

/** Classifies one error without its causes. The most specific property is inspected first. */
function classifyNode(error: ErrorLike): Classification | undefined {
  const { code } = error
  if (typeof code === 'string') {
    if (isHoldfastError(error)) return byOwnCode(code)
    // axios reports a timeout with the code of an aborted connection.
    const byErrorCode =
      code === 'ECONNABORTED' && `${error.message}`.startsWith('timeout') ? TIMEOUT : byCode(code)
    if (byErrorCode !== undefined) return byErrorCode
  }
  const status = httpStatusOf(error)
  if (status !== undefined && (status >= 400 || !isErrorObject(error))) return byHttpError(error, status)
  return (
    bySqlState(error) ?? byGrpcStatus(error) ?? byValidationIssues(error) ?? byName(error) ?? byMongo(error)
  )
}

/** Whether an abort is a timeout: clients report a signal's timeout as an abort, and only its reason shows the difference. */
function isTimeoutAbort({ config, cause }: ErrorLike): boolean {
  const signal = isErrorLike(config) ? config.signal : undefined
  return [cause, isErrorLike(signal) && signal.reason].some(
    (reason) => isErrorLike(reason) && classifyChain(reason, 0).kind === 'timeout',
  )
}

const retryRank = ({ category, kind }: Classification): number =>
  category === 'transient' ? (kind === 'unknown' ? 2 : 3) : category === 'critical' ? 1 : 0

/** Classifies several errors as the one whose retry is most likely to succeed, because one success is enough. */
function classifyAggregate(
  errors: readonly unknown[],
  now: WallTime | undefined,
): Classification | undefined {
  let best: Classification | undefined
  for (const error of errors.slice(0, MAX_CHAIN_LENGTH)) {
    const candidate = classifyChain(error, now)
    if (best === undefined || retryRank(candidate) > retryRank(best)) best = candidate
  }
  return best
}

const withRetryAfter = (classification: Classification, retryAfter: number | undefined): Classification =>
  retryAfter === undefined ? classification : { ...classification, retryAfter }

function classifyChain(error: unknown, now: WallTime | undefined): Classification {
  let retryAfter: number | undefined
  let isProgrammingError = false
  try {
    for (let node = error; isErrorLike(node) && visitCount < MAX_CHAIN_LENGTH; node = node.cause) {
      visitCount++
      if (isBareError(node)) {
        const messageClassification = byMessage(node.message)
        if (messageClassification !== undefined) return withRetryAfter(messageClassification, retryAfter)
        break
      }
      retryAfter ??= parseRetryAfter(node, now ?? systemClock.wall)
      const classification = classifyNode(node)
      if (classification === CANCELLED && (isTimeoutAbort(node) || isTimeoutAbort(error as ErrorLike)))
        return TIMEOUT
      if (classification === PROGRAMMING_ERROR) isProgrammingError = true
      else if (classification !== undefined) return withRetryAfter(classification, retryAfter)
      const { errors } = node
      if (Array.isArray(errors) && (node.name === 'AggregateError' || errors[0] instanceof Error)) {
        const aggregate = classifyAggregate(errors, now)
        if (aggregate !== undefined) return withRetryAfter(aggregate, aggregate.retryAfter ?? retryAfter)
      }
      const messageClassification = node.cause == null ? byMessage(node.message) : undefined
      if (messageClassification !== undefined) return withRetryAfter(messageClassification, retryAfter)
    }
  } catch {
    // A getter or a Proxy threw: the result depends on the errors read before.
  }
  return withRetryAfter(isProgrammingError || !isErrorObject(error) ? PERMANENT_UNKNOWN : UNKNOWN, retryAfter)
}

/**
 * Classifies an error: whether a retry can succeed, and the kind of the error. It recognises the errors of Node.js and
 * undici, of HTTP clients and SDKs, of gRPC, of SQL databases and of validators, and a `Response`. It inspects causes and
 * the members of an AggregateError; the member whose retry is most likely to succeed decides. An error without any
 * recognised property is transient; a programming error, and a thrown value that is not an error, is permanent. It never
 * throws.
 *
 * `now` is the time in epoch milliseconds, or a function that returns it, from which a date in Retry-After is measured. The
 * default is the system clock.
 *
 * @example
 * ```ts
 * import { classify } from 'holdfast'
 *
 * classify(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })).kind // => 'network_error'
 * classify(new Response(null, { status: 503, headers: { 'retry-after': '2' } })).retryAfter // => 2000
 * classify(new TypeError('x is not a function')).category // => 'permanent'
 * classify('just a string').category // => 'permanent'
 * ```
 */
export function classify(error: unknown, now?: number | (() => number)): Classification {
  visitCount = 0
  return classifyChain(error, now)
}
