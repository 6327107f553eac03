/**
 * Returns the object that all copies of this package in the process share under a name. The first copy creates it. A process has
 * several copies if the package is installed twice or is loaded as an ECMAScript module and as CommonJS.
 */
export function sharedByAllCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(`holdfast.${name}`)
  const existing = (globalThis as Record<symbol, unknown>)[key]
  if (existing !== undefined) return existing as T
  const created = create()
  try {
    Object.defineProperty(globalThis, key, { value: created })
  } catch {
    // With a frozen global object each copy has its own.
  }
  return created
}
