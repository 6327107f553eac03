/** Where values of policies and their defaults come from: `file:line:column`, or the name of a variable. */
export interface Places {
  readonly [path: string]: string
}

/** The key of a place among {@link Places}. */
export const placeKey = (...path: readonly string[]): string => path.join('\0')

/** Freezes a value and all that it holds: it is shared by whoever reads it. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const held of Object.values(value)) freeze(held)
  return Object.freeze(value)
}
