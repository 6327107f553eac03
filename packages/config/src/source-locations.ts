/** The origin of each policy value and default: `file:line:column`, or the name of a variable. */
export interface SourceLocations {
  readonly [path: string]: string
}

/** The key of a path in {@link SourceLocations}. */
export const locationKey = (...path: readonly string[]): string => path.join('\0')
