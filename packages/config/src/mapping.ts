/** A value with keys, as in YAML or JSON. */
export type Mapping = Record<string, unknown>

/** Whether a value has keys. An array has none. */
export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
