/** The method that Node's `util.inspect` and `console.log` call to format an object. The symbol is registered, so no import is needed. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** The function that Node passes to that method. */
export type Inspect = (value: unknown, options: object) => string

/** Formats an object as its class and a few facts, instead of all its internals. */
export const formatInstance = (name: string, facts: object, options: object, inspect: Inspect): string =>
  `${name} ${inspect(facts, options)}`
