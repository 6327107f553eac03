/** Where a decorated method stands in its class, as far as its decorators were told. */
export interface MethodLocation {
  readonly key: string | symbol
  readonly isStatic: boolean
  /** What TypeScript's older decorators are given: the prototype, or the class of a static method. */
  readonly target?: object | undefined
  /** What all standard decorators of one class share, where the platform has it. */
  readonly metadata?: object | undefined
}

const METADATA_SYMBOL: symbol = (Symbol as { metadata?: symbol }).metadata ?? Symbol.for('Symbol.metadata')

const ownProperty = (object: object, key: PropertyKey): unknown =>
  Object.getOwnPropertyDescriptor(object, key)?.value

const classNameOf = (object: object, { isStatic }: MethodLocation): string | undefined =>
  ((isStatic ? object : object.constructor) as { name?: string } | undefined)?.name || undefined

/** The objects a property of `self` is looked up in. */
function* prototypeChain(self: unknown): Generator<object> {
  for (let current = self; Object(current) === current; current = Object.getPrototypeOf(current))
    yield current as object
}

/**
 * The name of the class that declares a method. Standard decorators are not told it, so it is found from the object that
 * the method is called on: the holder of the method itself, or one with the class's metadata, else the nearest with a
 * method of that name. Undefined where there is none, as when a method is called without its object.
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
    // A private name cannot be looked up.
    (typeof key === 'string' && key.startsWith('#') ? chain[0] : undefined)
  return declaringObject && classNameOf(declaringObject, location)
}

/** A method's name as a word: `save`, `#save`, `[save]` for a symbol. */
export const formatMethodName = ({ key }: MethodLocation): string =>
  typeof key === 'symbol' ? `[${key.description ?? ''}]` : key

/** Whether two decorators stand at one method. */
export const isSameMethod = (a: MethodLocation, b: MethodLocation): boolean =>
  a.key === b.key && a.isStatic === b.isStatic && a.target === b.target && a.metadata === b.metadata
