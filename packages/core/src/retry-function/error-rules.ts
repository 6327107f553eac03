import { type Classification, type ErrorLike, isErrorLike } from '../classify/classification.js'
import { type CompiledMatcher, isClass, type Matcher } from '../classify/matchers.js'

// The whole classification would be half of a bundle, so these rules inspect only the HTTP status and the class of an error.

/** The beginning of the messages with which `fetch` reports a lost connection as a TypeError. */
const FETCH_FAILED_PATTERN = /^(fetch f|failed to f|network|load f|the (int|net)|error s|terminated)/i

/** Whether a retry cannot help: not an error, a rejection, a programming error, an abort, or a status of the client's fault. */
function isPermanent(error: unknown): boolean {
  if (!isErrorLike(error)) return true
  const { status, statusCode, response, name, message } = error
  // `test` converts its argument to a text, whatever its type.
  const httpStatus = status ?? statusCode ?? (response as ErrorLike | undefined)?.status
  if (typeof httpStatus === 'number') return !/^(408|425|429|5(?!01|05)..)$/.test(httpStatus as never)
  return (
    !(error instanceof Error) ||
    /^(Abort|Holdfast)Error$/.test(name as string) ||
    (/^(Type|Range|Reference|Syntax)Error$/.test(name as string) &&
      !FETCH_FAILED_PATTERN.test(message as string))
  )
}

/**
 * Returns the milliseconds of the header `retry-after-ms`, of Retry-After, which is in seconds or a date, or of `retryAfter`, which is
 * in milliseconds. The headers are a `Headers` or a plain object with names in any case.
 */
function retryAfterOf(error: unknown, wall: number): unknown {
  const { retryAfter, response, headers } = Object(error)
  const fields = Object(headers ?? response?.headers)
  const delays = ['retry-after-ms', 'retry-after'].map((name, i) => {
    const value =
      fields.get?.(name) ?? Object.entries(fields).find(([key]) => key.toLowerCase() === name)?.[1]
    return /:/.test(value)
      ? Math.max(0, Date.parse(value) - wall)
      : Math.ceil(Number.parseFloat(value) * 1000 ** i)
  })
  return delays.find((ms) => ms >= 0) ?? retryAfter
}

/** Classifies an error by these rules, and by the user's function where there is one. It never throws. */
export function classifyByRules(
  error: unknown,
  wall: number,
  classify: ((error: unknown) => Partial<Classification> | undefined) | undefined,
): Classification {
  try {
    const category = isPermanent(error) ? 'permanent' : 'transient'
    return {
      category,
      kind: 'unknown',
      retryAfter: retryAfterOf(error, wall) as number,
      ...classify?.(error),
    }
  } catch {
    return { category: 'permanent', kind: 'unknown' } // the function, a getter or a Proxy threw
  }
}

/** Compiles matchers: classes and names also match the causes of an error, a predicate gets the error itself. */
export const compileRules = (list: readonly Matcher[] | undefined): CompiledMatcher | undefined =>
  list && ((error, known) => list.some((matcher) => matchesRule(matcher, error, known)))

function matchesRule(matcher: Matcher, error: unknown, { category, kind }: Classification): boolean {
  try {
    if (typeof matcher === 'function' && !isClass(matcher))
      return (matcher as (error: unknown) => unknown)(error) === true
    let node = error
    // A chain of causes can be circular.
    for (let depth = 0; isErrorLike(node) && depth < 20; depth++) {
      const { name, code, cause } = node
      if (
        typeof matcher === 'string' ? [category, kind, name, code].includes(matcher) : node instanceof matcher
      )
        return true
      node = cause
    }
  } catch {
    // A predicate or a getter threw, and matches nothing.
  }
  return false
}
