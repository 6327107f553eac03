/** The method that Node's `util.inspect` and `console.log` call to format an object. The symbol is registered, so no import is needed. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** The function that Node passes to that method. */
export type Inspect = (value: unknown, options: object) => string

/**
 * Makes Node format an instance, and all others of its class, as the class and a few facts. A constructor calls it, because a
 * bundler cannot leave out an unused class that has a computed key in its body.
 */
export function makeInspectable<T extends object>(
  instance: T,
  name: string,
  factsOf: (instance: T) => object,
): void {
  if (INSPECT in instance) return
  Object.defineProperty(Object.getPrototypeOf(instance), INSPECT, {
    value(this: T, _depth: number, options: object, inspect: Inspect) {
      return formatInstance(name, factsOf(this), options, inspect)
    },
    configurable: true,
    writable: true,
  })
}

/** Formats an object as its class and a few facts, instead of all its internals. */
export const formatInstance = (name: string, facts: object, options: object, inspect: Inspect): string =>
  `${name} ${inspect(facts, options)}`
