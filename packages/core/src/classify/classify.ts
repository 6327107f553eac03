import { systemClock } from '../clock.js'
import { isHoldfastError } from '../errors.js'
import { MOST } from './chain.js'
import { byGrpc } from './grpc.js'
import { byStatus, statusOf } from './http.js'
import { byMongo } from './mongodb.js'
import { byMessage, byNames } from './names.js'
import { isRateLimited, type Now, retryAfterOf } from './retry-after.js'
import { bySql } from './sql.js'
import { byIssues } from './validation.js'
import {
  type Bag,
  CANCELLED,
  type Classification,
  HOPELESS,
  isBag,
  MISTAKE,
  TIMEOUT,
  UNKNOWN,
} from './verdict.js'
import { byWord } from './words.js'

let visits = 0

/** An error of this realm or another. A Proxy may refuse to tell, and is none then. */
function isError(value: unknown): boolean {
  try {
    return value instanceof Error || /Error|DOMEx/.test(Object.prototype.toString.call(value))
  } catch {
    return false
  }
}

/**
 * What an HTTP error says. GitHub tells its limits by headers while the status is 403, the services of AWS theirs and
 * timeouts by name while it is 400.
 */
function byHttp(error: Bag, status: number): Classification {
  const found = byStatus(status)
  if (status === 403 && isRateLimited(error)) return { ...byStatus(429), httpStatus: status }
  const { $metadata, $retryable, name } = error
  if ($metadata === undefined) return found
  const named = isBag($retryable)
    ? byWord($retryable.throttling ? 'Throttling' : 'http:503')
    : byWord(`${name}`)
  return named?.category === 'transient' ? { ...named, httpStatus: status } : found
}

/** Whether an error is a bare `new Error(message)`, as most thrown errors are: only its message can be inspected. */
const isBareError = (error: Bag): boolean =>
  Object.getPrototypeOf(error) === Error.prototype &&
  Object.getOwnPropertyNames(error).every((name) => name === 'stack' || name === 'message')

/** What one error says by itself, leaving its causes aside. The order is that of the most telling sign. */
function inspect(error: Bag): Classification | undefined {
  const { code } = error
  if (typeof code === 'string') {
    // axios gives a timeout the code of an aborted connection.
    const found = code === 'ECONNABORTED' && `${error.message}`.startsWith('timeout') ? TIMEOUT : byWord(code)
    if (found !== undefined) return found
    if (isHoldfastError(error)) return byWord(`own:${code}`)
  }
  const status = statusOf(error)
  if (status !== undefined && (status >= 400 || !isError(error))) return byHttp(error, status)
  return bySql(error) ?? byGrpc(error) ?? byIssues(error) ?? byNames(error) ?? byMongo(error)
}

/** Clients report a signal's timeout as an abort; the reason tells. */
function timedOut({ config, cause }: Bag): boolean {
  const signal = isBag(config) ? config.signal : undefined
  return [cause, isBag(signal) && signal.reason].some(
    (reason) => isBag(reason) && judge(reason, 0).kind === 'timeout',
  )
}

const rank = ({ category, kind }: Classification): number =>
  category === 'transient' ? (kind === 'unknown' ? 2 : 3) : category === 'critical' ? 1 : 0

/** Of several errors the most hopeful speaks: one way that may open again is enough. */
function ofMany(errors: readonly unknown[], now: Now | undefined): Classification | undefined {
  let best: Classification | undefined
  for (const error of errors.slice(0, MOST)) {
    const next = judge(error, now)
    if (best === undefined || rank(next) > rank(best)) best = next
  }
  return best
}

const hinted = (found: Classification, retryAfter: number | undefined): Classification =>
  retryAfter === undefined ? found : { ...found, retryAfter }

function judge(error: unknown, now: Now | undefined): Classification {
  let retryAfter: number | undefined
  let mistake = false
  try {
    for (let node = error; isBag(node) && visits < MOST; node = node.cause) {
      visits++
      if (isBareError(node)) {
        const told = byMessage(node.message)
        if (told !== undefined) return hinted(told, retryAfter)
        break
      }
      retryAfter ??= retryAfterOf(node, now ?? systemClock.wall)
      const found = inspect(node)
      if (found === CANCELLED && (timedOut(node) || timedOut(error as Bag))) return TIMEOUT
      if (found === MISTAKE) mistake = true
      else if (found !== undefined) return hinted(found, retryAfter)
      const { errors } = node
      if (Array.isArray(errors) && (node.name === 'AggregateError' || errors[0] instanceof Error)) {
        const many = ofMany(errors, now)
        if (many !== undefined) return hinted(many, many.retryAfter ?? retryAfter)
      }
      const told = node.cause == null ? byMessage(node.message) : undefined
      if (told !== undefined) return hinted(told, retryAfter)
    }
  } catch {
    // A getter or a Proxy threw: what was learnt before it is all there is.
  }
  return hinted(mistake || !isError(error) ? HOPELESS : UNKNOWN, retryAfter)
}

/**
 * Says whether trying again can help after an error, and what kind of error it is. It knows the errors of Node.js and
 * undici, of HTTP clients and SDKs, of gRPC, of SQL databases and of validators, and a `Response`. It looks through
 * causes and the members of an AggregateError, of which the most hopeful speaks. An error that says nothing is
 * transient; a programming error, and anything thrown that is no error, is permanent. It never throws.
 *
 * `now` is the time in epoch milliseconds against which a date in Retry-After is read, or a function that tells it; the
 * machine's clock by default.
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
  visits = 0
  return judge(error, now)
}
