/** A value with keys. */
export type Mapping = Record<string, unknown>

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
