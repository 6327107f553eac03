/** The origin of each policy value and default: `file:line:column`, or the name of a variable. */
export interface SourceLocations {
  readonly [path: string]: string
}

/** The key of a path in {@link SourceLocations}. */
export const locationKey = (...path: readonly string[]): string => path.join('\0')

/** Freezes a value and everything in it, because several readers share it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const child of Object.values(value)) deepFreeze(child)
  return Object.freeze(value)
}
