/** The functions of `reflect-metadata` that are used if the application has loaded it. */
interface ReflectMetadata {
  getOwnMetadataKeys?(target: object): unknown[]
  getOwnMetadata?(key: unknown, target: object): unknown
  defineMetadata?(key: unknown, value: unknown, target: object): void
}

/** Properties that every function has and that must not be copied. */
const FUNCTION_PROPERTIES = new Set<PropertyKey>(['prototype', 'arguments', 'caller'])

/**
 * Copies name, length, own properties and the metadata of `reflect-metadata` from a method to its wrapper. NestJS, for
 * example, stores routes as such metadata.
 */
export function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.ownKeys(from)) {
    const descriptor = Object.getOwnPropertyDescriptor(from, key)
    if (descriptor !== undefined && !FUNCTION_PROPERTIES.has(key)) Object.defineProperty(to, key, descriptor)
  }
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as ReflectMetadata
  for (const key of getOwnMetadataKeys?.(from) ?? []) defineMetadata?.(key, getOwnMetadata?.(key, from), to)
}
