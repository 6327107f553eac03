/** The part of `reflect-metadata` that is used, where a program has loaded it. */
interface ReflectMetadata {
  getOwnMetadataKeys?(target: object): unknown[]
  getOwnMetadata?(key: unknown, target: object): unknown
  defineMetadata?(key: unknown, value: unknown, target: object): void
}

/** What belongs to a function as such. */
const FUNCTION_PROPERTIES = new Set<PropertyKey>(['prototype', 'arguments', 'caller'])

/**
 * Gives the function that stands in for a method all that was said about the method: its name and length, properties of
 * its own, and metadata of `reflect-metadata`. Routes of NestJS, for one, are nothing but such metadata.
 */
export function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.ownKeys(from)) {
    const descriptor = Object.getOwnPropertyDescriptor(from, key)
    if (descriptor !== undefined && !FUNCTION_PROPERTIES.has(key)) Object.defineProperty(to, key, descriptor)
  }
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as ReflectMetadata
  for (const key of getOwnMetadataKeys?.(from) ?? []) defineMetadata?.(key, getOwnMetadata?.(key, from), to)
}
