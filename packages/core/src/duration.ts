/** A number of milliseconds, or a string with a unit: `'500ms'`, `'30s'`, `'5m'`, `'24h'`, `'30d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a duration, or NaN where it is none. */
export function milliseconds(value: unknown): number {
  if (typeof value === 'number') return value
  const match = typeof value === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value)
  return match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : Number.NaN
}
