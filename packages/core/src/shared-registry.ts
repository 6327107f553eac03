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

/**
 * Implements `instanceof` of a class whose prototype has `mark`, a version number: true for instances of this and every other copy of
 * the class with the same version. A subclass recognises its own instances only.
 */
export function isInstanceOfAnyCopy(
  type: { readonly prototype: object },
  mark: string,
  value: unknown,
): boolean {
  const { prototype } = type
  return Object.hasOwn(prototype, mark)
    ? (Object(value) as Record<string, unknown>)[mark] === (prototype as Record<string, unknown>)[mark]
    : Object.prototype.isPrototypeOf.call(prototype, value as object)
}
