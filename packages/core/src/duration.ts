type Unit = 'ms' | 's' | 'm' | 'h' | 'd'

/** Digits with an optional fraction, and a unit. `bigint` excludes spaces and exponents, which `number` would accept. */
type Amount = `${bigint}${Unit}` | `${bigint}.${'' | '0' | '00'}${bigint}${Unit}`

/** Excludes signs and hexadecimal numbers, which `bigint` would accept. */
type Decimal = `${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}${string}` | `0.${string}`

/**
 * A number of milliseconds, or a string with a unit: `'500ms'`, `'30s'`, `'5m'`, `'24h'`, `'30d'`, `'1.5s'`. There is no
 * space between the number and the unit.
 */
export type Duration = number | `0${Unit}` | (Amount & Decimal)

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration as text: digits with an optional fraction, and a unit. */
export const DURATION_PATTERN = /^\d+(\.\d+)?(ms|s|m|h|d)$/

/** Returns the milliseconds of a duration, or NaN where the value is not a duration. */
export function parseDuration(value: unknown): number {
  if (typeof value === 'number') return value
  const match = typeof value === 'string' && DURATION_PATTERN.exec(value)
  return match ? Number.parseFloat(match[0]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : Number.NaN
}
