/** Where a decorated method stands in its class, as far as its decorators were told. */
export interface Place {
  readonly key: string | symbol
  readonly isStatic: boolean
  /** What TypeScript's older decorators are given: the prototype, or the class of a static method. */
  readonly target?: object | undefined
  /** What all standard decorators of one class share, where the platform has it. */
  readonly metadata?: object | undefined
}

const METADATA: symbol = (Symbol as { metadata?: symbol }).metadata ?? Symbol.for('Symbol.metadata')

const own = (object: object, key: PropertyKey): unknown => Object.getOwnPropertyDescriptor(object, key)?.value

const nameOf = (holder: object, { isStatic }: Place): string | undefined =>
  ((isStatic ? holder : holder.constructor) as { name?: string } | undefined)?.name || undefined

/** The objects a property of `self` is looked up in. */
function* holders(self: unknown): Generator<object> {
  for (let at = self; Object(at) === at; at = Object.getPrototypeOf(at)) yield at as object
}

/**
 * The name of the class that declares a method. Standard decorators are not told it, so it is found from the object that
 * the method is called on: the holder of the method itself, or one with the class's metadata, else the nearest with a
 * method of that name. Undefined where there is none, as when a method is called without its object.
 */
export function ownerOf(place: Place, method: unknown, self: unknown): string | undefined {
  const { key, target, metadata } = place
  if (target !== undefined) return nameOf(target, place)
  const all = [...holders(self)]
  const classOf = (holder: object) => (place.isStatic ? holder : holder.constructor)
  const found =
    all.find((holder) => own(holder, key) === method) ??
    all.find((holder) => metadata !== undefined && own(classOf(holder), METADATA) === metadata) ??
    all.find((holder) => Object.hasOwn(holder, key)) ??
    // A private name cannot be looked up.
    (typeof key === 'string' && key.startsWith('#') ? all[0] : undefined)
  return found && nameOf(found, place)
}

/** A method's name as a word: `save`, `#save`, `[save]` for a symbol. */
export const labelOf = ({ key }: Place): string =>
  typeof key === 'symbol' ? `[${key.description ?? ''}]` : key

/** Whether two decorators stand at one method. */
export const isSame = (a: Place, b: Place): boolean =>
  a.key === b.key && a.isStatic === b.isStatic && a.target === b.target && a.metadata === b.metadata
