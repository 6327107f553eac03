/** Frozen values that contain a `Date`, which stays mutable. */
const valuesWithDates = new WeakSet<object>()

/**
 * Returns a frozen copy of plain data, for several readers. Frozen values are not copied, and values that are not plain data are
 * returned as they are.
 */
export const freezeCopy = <T>(value: T): T =>
  typeof value !== 'object' || value === null || Object.isFrozen(value)
    ? value
    : freezeInPlace(deepCopy(value))

/** Freezes plain data that is not shared yet, with all nested values. */
export function freezeInPlace<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Date || Object.isFrozen(value))
    return value
  if (!Array.isArray(value) && !isPlainObject(value)) return value
  let hasDate = false
  for (const key in value) {
    const fieldValue: unknown = value[key]
    if (typeof fieldValue !== 'object' || fieldValue === null) continue
    freezeInPlace(fieldValue)
    hasDate ||= fieldValue instanceof Date || valuesWithDates.has(fieldValue)
  }
  if (hasDate) valuesWithDates.add(value)
  return Object.freeze(value)
}

/** Returns a frozen object with additional fields. */
export function freezeWith(base: Record<string, unknown> | undefined, more: object): Record<string, unknown> {
  const result = { ...base, ...more }
  if (base !== undefined && valuesWithDates.has(base)) valuesWithDates.add(result)
  return Object.freeze(result)
}

/** Returns a frozen value for another reader: the value itself, or a copy if it contains a `Date`, which can be changed. */
export const copyForReader = <T>(value: T): T =>
  typeof value === 'object' && value !== null && valuesWithDates.has(value)
    ? Object.freeze(deepCopy(value))
    : value

/** Returns a copy of plain data that its reader can change. */
export function deepCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items: unknown[] = value.slice()
    for (let i = 0; i < items.length; i++) {
      const item = items[i]
      if (typeof item === 'object' && item !== null) items[i] = deepCopy(item)
    }
    return items as T
  }
  if (value instanceof Date) return new Date(value) as T
  if (!isPlainObject(value)) return value
  // A spread is faster than adding field by field. It copies `__proto__` as an own field, which the assignment below then changes.
  const result: Record<string, unknown> = { ...(value as object) }
  for (const key in result) {
    const field = result[key]
    if (typeof field === 'object' && field !== null) result[key] = deepCopy(field)
  }
  return result as T
}

function isPlainObject(value: object): boolean {
  const kind = Object.getPrototypeOf(value) as object | null
  return kind === Object.prototype || kind === null
}
