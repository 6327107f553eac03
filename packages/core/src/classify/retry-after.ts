import { type ErrorLike, isErrorLike } from './classification.js'

/** The wall clock, or a reading of it. */
export type WallTime = number | (() => number)

/** Whole milliseconds, rounded up so that a wait never ends early, but not for what binary fractions add. */
const toWholeMs = (ms: unknown): number | undefined =>
  typeof ms === 'number' && ms >= 0 && ms < Infinity ? Math.ceil(Math.max(0, ms - 1e-6)) : undefined

/** A number of 0 or more; of several joined by commas, the first. */
const parseAmount = (value: unknown): number =>
  /^\s*\d+(\.\d+)?\s*(,|$)/.test(`${value}`) ? Number.parseFloat(`${value}`) : Number.NaN

const msUntil = (epoch: number, now: WallTime): number | undefined =>
  epoch >= 0 ? Math.max(0, epoch - (typeof now === 'number' ? now : now())) : undefined

function parseSeconds(value: unknown, now: WallTime): number | undefined {
  const text = `${value}`
  if (!/^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[^:]+:\d\d:\d\d/.test(text))
    return toWholeMs(parseAmount(text) * 1000)
  // The oldest of the three forms of an HTTP date does not name its zone, which is GMT.
  return msUntil(Date.parse(text.includes('GMT') ? text : `${text} GMT`), now)
}

/** Below 10^9 seconds it counts from now; above, it is a time. */
const parseReset = (value: number, now: WallTime): number | undefined =>
  value < 1e9 ? toWholeMs(value * 1000) : msUntil(value * 1000, now)

/** Every value of a header: of a `Headers`, a Map or a plain object, in any case. */
function headerValues(headers: ErrorLike, name: string): unknown[] {
  if (headers instanceof Map) return headerValues(Object.fromEntries(headers), name)
  if (typeof headers.get === 'function') return [headers.get(name)].flat()
  return Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []))
}

const fromHeaders = (owner: unknown, now: WallTime): number | undefined =>
  isErrorLike(owner) && isErrorLike(owner.headers) ? parseHeaders(owner.headers, now) : undefined

function parseHeaders(headers: ErrorLike, now: WallTime): number | undefined {
  const firstParsed = (name: string, parse: (value: unknown) => number | undefined): number | undefined =>
    headerValues(headers, name)
      .map(parse)
      .find((found) => found !== undefined)
  return (
    firstParsed('retry-after-ms', (value) => toWholeMs(parseAmount(value))) ??
    firstParsed('retry-after', (value) => parseSeconds(value, now)) ??
    // A window that still has room says when it ends, not when to come back.
    (firstParsed('x-ratelimit-remaining', parseAmount)
      ? undefined
      : firstParsed('x-ratelimit-reset', (value) => parseReset(parseAmount(value), now)))
  )
}

/** Whether the headers of an answer say that it is about a rate limit: when to come back, or that no calls are left. */
export const isRateLimited = (source: ErrorLike): boolean =>
  [source, source.response, source.$response].some(
    (owner) =>
      isErrorLike(owner) &&
      isErrorLike(owner.headers) &&
      (headerValues(owner.headers, 'x-ratelimit-remaining').some((value) => parseAmount(value) === 0) ||
        headerValues(owner.headers, 'retry-after').some((value) => parseSeconds(value, 0) !== undefined)),
  )

/**
 * How many milliseconds the other side wants to be left alone, read from an error's `headers`, the headers of its
 * `response`, a `Response` itself, or `retryAfter`, which is milliseconds. Of a source's headers `retry-after-ms` comes
 * first, then `retry-after` (seconds or a date), then `x-ratelimit-reset`; what cannot be read is passed over, 0 is an
 * answer, and a date that has passed is 0. `now` is the wall clock and is needed for dates only.
 */
export function parseRetryAfter(source: unknown, now: WallTime): number | undefined {
  try {
    if (!isErrorLike(source)) return undefined
    return (
      fromHeaders(source, now) ??
      fromHeaders(source.response, now) ??
      fromHeaders(source.$response, now) ??
      toWholeMs(source.retryAfter)
    )
  } catch {
    return undefined
  }
}
