import { type ErrorLike, isErrorLike } from './classification.js'

/** A wall clock, or a reading of one. */
export type WallTime = number | (() => number)

/** Rounds up to whole milliseconds, so that a delay never ends early; rounding errors of binary fractions do not count. */
const toWholeMs = (ms: unknown): number | undefined =>
  typeof ms === 'number' && ms >= 0 && ms < Infinity ? Math.ceil(Math.max(0, ms - 1e-6)) : undefined

/** Parses a number of 0 or more; the first of several that are joined by commas. */
const parseAmount = (value: unknown): number =>
  /^\s*\d+(\.\d+)?\s*(,|$)/.test(`${value}`) ? Number.parseFloat(`${value}`) : Number.NaN

const msUntil = (epoch: number, now: WallTime): number | undefined =>
  epoch >= 0 ? toWholeMs(Math.max(0, epoch - (typeof now === 'number' ? now : now()))) : undefined

function parseSeconds(value: unknown, now: WallTime): number | undefined {
  const text = `${value}`
  if (!/^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[^:]+:\d\d:\d\d/.test(text))
    return toWholeMs(parseAmount(text) * 1000)
  // The asctime form of an HTTP date has no time zone; it is GMT.
  return msUntil(Date.parse(text.includes('GMT') ? text : `${text} GMT`), now)
}

/** A value below 10^9 is a number of seconds from now, any other the epoch seconds of a time. */
const parseReset = (value: number, now: WallTime): number | undefined =>
  value < 1e9 ? toWholeMs(value * 1000) : msUntil(value * 1000, now)

/** Returns every value of a header from a `Headers`, a Map or a plain object, with its name in any case. */
export function headerValues(headers: ErrorLike, name: string): unknown[] {
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
    // While calls remain in the rate limit window, its end is not a delay.
    (firstParsed('x-ratelimit-remaining', parseAmount)
      ? undefined
      : firstParsed('x-ratelimit-reset', (value) => parseReset(parseAmount(value), now)))
  )
}

/** Whether the headers of a response report a rate limit: a time for the retry, or no remaining calls. */
export const isRateLimited = (source: ErrorLike): boolean =>
  [source, source.response, source.$response].some(
    (owner) =>
      isErrorLike(owner) &&
      isErrorLike(owner.headers) &&
      (headerValues(owner.headers, 'x-ratelimit-remaining').some((value) => parseAmount(value) === 0) ||
        headerValues(owner.headers, 'retry-after').some((value) => parseSeconds(value, 0) !== undefined)),
  )

/**
 * Returns the milliseconds after which the server allows a retry, from the `headers` of an error or of its `response`, from its
 * `responseHeaders`, from a `Response` itself, or from `retryAfter`, which is in milliseconds. Of the headers `retry-after-ms` comes first, then
 * `retry-after` (seconds or a date), then `x-ratelimit-reset`. A value that cannot be parsed is ignored, 0 is valid, and a date
 * in the past is 0. `now` is the wall clock and is needed for dates only.
 */
export function parseRetryAfter(source: unknown, now: WallTime): number | undefined {
  try {
    if (!isErrorLike(source)) return undefined
    return (
      fromHeaders(source, now) ??
      fromHeaders(source.response, now) ??
      fromHeaders(source.$response, now) ??
      // The AI SDK has the headers of a response in the error itself.
      fromHeaders({ headers: source.responseHeaders }, now) ??
      toWholeMs(source.retryAfter)
    )
  } catch {
    return undefined
  }
}
