/** Frozen values that hold a time: a `Date` can be changed all the same. */
const dated = new WeakSet<object>()

/**
 * A frozen copy of plain data, for what several read and nobody may change. What is frozen already is not copied, and what is
 * no plain data stays what it is.
 */
export const frozen = <T>(value: T): T =>
  typeof value !== 'object' || value === null || Object.isFrozen(value) ? value : freezeFresh(copied(value))

/** Freezes plain data that nobody else holds yet. */
export function freezeFresh<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Date || Object.isFrozen(value))
    return value
  if (!Array.isArray(value) && !isPlain(value)) return value
  let timed = false
  for (const key in value) {
    const held: unknown = value[key]
    if (typeof held !== 'object' || held === null) continue
    freezeFresh(held)
    timed ||= held instanceof Date || dated.has(held)
  }
  if (timed) dated.add(value)
  return Object.freeze(value)
}

/** What is frozen with something besides, frozen too. */
export function extended(base: Record<string, unknown> | undefined, more: object): Record<string, unknown> {
  const result = { ...base, ...more }
  if (base !== undefined && dated.has(base)) dated.add(result)
  return Object.freeze(result)
}

/** A frozen value for one more reader: as it is, or a copy where it holds a time, which freezing does not protect. */
export const handedOut = <T>(value: T): T =>
  typeof value === 'object' && value !== null && dated.has(value) ? Object.freeze(copied(value)) : value

/** A copy of plain data that its reader may change. */
export function copied<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return new Date(value) as T
  if (Array.isArray(value)) return value.map(copied) as T
  if (!isPlain(value)) return value
  const result: Record<string, unknown> = {}
  for (const [key, held] of Object.entries(value)) put(result, key, copied(held as unknown))
  return result as T
}

function isPlain(value: object): boolean {
  const kind = Object.getPrototypeOf(value) as object | null
  return kind === Object.prototype || kind === null
}

/** A plain assignment to this one key would change the prototype. */
function put(result: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true })
  else (result as Record<string, unknown>)[key] = value
}
