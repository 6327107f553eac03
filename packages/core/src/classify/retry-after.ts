import { type Bag, isBag } from './verdict.js'

/** The wall clock, or a reading of it. */
export type Now = number | (() => number)

/** Whole milliseconds, rounded up so that a wait never ends early, but not for what binary fractions add. */
const whole = (ms: unknown): number | undefined =>
  typeof ms === 'number' && ms >= 0 && ms < Infinity ? Math.ceil(Math.max(0, ms - 1e-6)) : undefined

/** A number of 0 or more; of several joined by commas, the first. */
const amount = (value: unknown): number =>
  /^\s*\d+(\.\d+)?\s*(,|$)/.test(`${value}`) ? Number.parseFloat(`${value}`) : Number.NaN

const until = (epoch: number, now: Now): number | undefined =>
  epoch >= 0 ? Math.max(0, epoch - (typeof now === 'number' ? now : now())) : undefined

function seconds(value: unknown, now: Now): number | undefined {
  const text = `${value}`
  if (!/^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[^:]+:\d\d:\d\d/.test(text)) return whole(amount(text) * 1000)
  // The oldest of the three forms of an HTTP date does not name its zone, which is GMT.
  return until(Date.parse(text.includes('GMT') ? text : `${text} GMT`), now)
}

/** Below 10^9 seconds it counts from now; above, it is a time. */
const reset = (given: number, now: Now): number | undefined =>
  given < 1e9 ? whole(given * 1000) : until(given * 1000, now)

/** Every value of a header: of a `Headers`, a Map or a plain object, in any case. */
function valuesOf(headers: Bag, name: string): unknown[] {
  if (headers instanceof Map) return valuesOf(Object.fromEntries(headers), name)
  if (typeof headers.get === 'function') return [headers.get(name)].flat()
  return Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []))
}

const fromHeaders = (owner: unknown, now: Now): number | undefined =>
  isBag(owner) && isBag(owner.headers) ? readHeaders(owner.headers, now) : undefined

function readHeaders(headers: Bag, now: Now): number | undefined {
  const first = (name: string, read: (value: unknown) => number | undefined): number | undefined =>
    valuesOf(headers, name)
      .map(read)
      .find((found) => found !== undefined)
  return (
    first('retry-after-ms', (value) => whole(amount(value))) ??
    first('retry-after', (value) => seconds(value, now)) ??
    // A window that still has room says when it ends, not when to come back.
    (first('x-ratelimit-remaining', amount)
      ? undefined
      : first('x-ratelimit-reset', (value) => reset(amount(value), now)))
  )
}

/** Whether the headers of an answer say that it is about a rate limit: when to come back, or that no calls are left. */
export const isRateLimited = (source: Bag): boolean =>
  [source, source.response, source.$response].some(
    (owner) =>
      isBag(owner) &&
      isBag(owner.headers) &&
      (valuesOf(owner.headers, 'x-ratelimit-remaining').some((value) => amount(value) === 0) ||
        valuesOf(owner.headers, 'retry-after').some((value) => seconds(value, 0) !== undefined)),
  )

/**
 * How many milliseconds the other side wants to be left alone, read from an error's `headers`, the headers of its
 * `response`, a `Response` itself, or `retryAfter`, which is milliseconds. Of a source's headers `retry-after-ms` comes
 * first, then `retry-after` (seconds or a date), then `x-ratelimit-reset`; what cannot be read is passed over, 0 is an
 * answer, and a date that has passed is 0. `now` is the wall clock and is needed for dates only.
 */
export function retryAfterOf(source: unknown, now: Now): number | undefined {
  try {
    if (!isBag(source)) return undefined
    return (
      fromHeaders(source, now) ??
      fromHeaders(source.response, now) ??
      fromHeaders(source.$response, now) ??
      whole(source.retryAfter)
    )
  } catch {
    return undefined
  }
}
