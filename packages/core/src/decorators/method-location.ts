/** The location of a decorated method in its class, as far as its decorators know it. */
export interface MethodLocation {
  readonly key: string | symbol
  readonly isStatic: boolean
  /** The target of experimental decorators: the prototype, or the class of a static method. */
  readonly target?: object | undefined
  /** The metadata object that all standard decorators of a class share, if the platform supports it. */
  readonly metadata?: object | undefined
}

const METADATA_SYMBOL: symbol = (Symbol as { metadata?: symbol }).metadata ?? Symbol.for('Symbol.metadata')

const ownProperty = (object: object, key: PropertyKey): unknown =>
  Object.getOwnPropertyDescriptor(object, key)?.value

const classNameOf = (object: object, { isStatic }: MethodLocation): string | undefined =>
  ((isStatic ? object : object.constructor) as { name?: string } | undefined)?.name || undefined

/** The object and its prototypes. */
function* prototypeChain(self: unknown): Generator<object> {
  for (let current = self; Object(current) === current; current = Object.getPrototypeOf(current))
    yield current as object
}

/**
 * The name of the class that declares a method. Standard decorators do not receive it, so it is searched in the prototype
 * chain of the object that the method is called on: the object with the method itself, else the one with the metadata of the
 * class, else the nearest one with a method of that name. Undefined if there is none, for example without `this`.
 */
export function ownerOf(location: MethodLocation, method: unknown, self: unknown): string | undefined {
  const { key, target, metadata } = location
  if (target !== undefined) return classNameOf(target, location)
  const chain = [...prototypeChain(self)]
  const classOf = (object: object) => (location.isStatic ? object : object.constructor)
  const declaringObject =
    chain.find((object) => ownProperty(object, key) === method) ??
    chain.find(
      (object) => metadata !== undefined && ownProperty(classOf(object), METADATA_SYMBOL) === metadata,
    ) ??
    chain.find((object) => Object.hasOwn(object, key)) ??
    // A private method cannot be looked up by name.
    (typeof key === 'string' && key.startsWith('#') ? chain[0] : undefined)
  return declaringObject && classNameOf(declaringObject, location)
}

/** The name of a method: `save`, `#save`, `[save]` for a symbol. */
export const formatMethodName = ({ key }: MethodLocation): string =>
  typeof key === 'symbol' ? `[${key.description ?? ''}]` : key

/** Whether two decorators belong to the same method. */
export const isSameMethod = (a: MethodLocation, b: MethodLocation): boolean =>
  a.key === b.key && a.isStatic === b.isStatic && a.target === b.target && a.metadata === b.metadata
