import { z } from 'zod'

// Durations are rounded to microseconds, because smaller fractions are rounding errors of a multiplication or a sum.
const toMilliseconds = (seconds: number) => Math.round(seconds * 1e6) / 1e3

/** Converts milliseconds to seconds without rounding errors: 1100.0000000000002 becomes 1.1. */
export const toSeconds = (ms: number) => Math.round(ms * 1e3) / 1e6

/** Rounds seconds to microseconds. */
export const tidySeconds = (seconds: number) => Math.round(seconds * 1e6) / 1e6

/** A duration: seconds on the wire, milliseconds in TypeScript. */
export const durationSeconds = () =>
  z.codec(z.number().min(0), z.number(), { decode: toMilliseconds, encode: toSeconds })

let lastTime = Number.NaN
let lastText = ''
let lastSecond = Number.NaN
let lastPrefix = ''

/** A time in ISO 8601. The last text is reused, because consecutive times are often equal or in the same second. */
function formatIso(date: Date): string {
  const time = date.getTime()
  if (time === lastTime) return lastText
  const whole = Math.floor(time / 1000)
  if (whole !== lastSecond) {
    lastPrefix = date.toISOString().slice(0, -4)
    lastSecond = whole
  }
  lastTime = time
  return (lastText = `${lastPrefix}${String(time - whole * 1000).padStart(3, '0')}Z`)
}

/** A time: ISO 8601 UTC with milliseconds on the wire, a `Date` in TypeScript. */
export const timestamp = () =>
  z.codec(z.iso.datetime({ offset: true }), z.date(), {
    decode: (text) => new Date(text),
    encode: formatIso,
  })

/** A whole number from 1. */
export const positiveIntegerField = () => z.int().min(1)

/** A whole number from 0. */
export const nonNegativeIntegerField = () => z.int().min(0)

/** A value of the user, which is not changed in either direction. */
export const userData = () => z.unknown()

/** An object of the user, whose keys and values are not changed. */
export const userObject = () => z.record(z.string(), z.unknown())

const INFINITY_WORD = 'Infinity'

// Numbers of zod are finite.
const anyNumber = () => z.custom<number>((value) => typeof value === 'number')
const infinity = () => z.custom<number>((value) => value === Number.POSITIVE_INFINITY)

/** A whole number from 1, or Infinity, which is a word on the wire because JSON has no Infinity. */
export const countOrInfinity = () =>
  z.codec(z.union([positiveIntegerField(), infinity(), z.literal(INFINITY_WORD)]), anyNumber(), {
    decode: (wire) => (wire === INFINITY_WORD ? Number.POSITIVE_INFINITY : wire),
    encode: (count) => (count === Number.POSITIVE_INFINITY ? INFINITY_WORD : count),
  })

/**
 * A word of a list that later versions extend. A word that is not in the list is kept as text, so that records of a newer
 * process stay readable. The schema for API clients names the known ones.
 */
export const openWord = <const Known extends string>(known: readonly Known[]) =>
  z.string().min(1).meta({ 'x-extensible-enum': known }) as unknown as z.ZodType<
    Known | (string & {}),
    Known | (string & {})
  >
