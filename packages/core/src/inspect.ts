/** The name of the method by which `console.log` and `util.inspect` of Node show an object; a registered symbol needs no import. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** The function that Node hands to that method. */
export type Inspect = (value: unknown, options: object) => string

/** An object's class and the facts about it that matter, instead of all its internals. */
export const formatInstance = (name: string, facts: object, options: object, inspect: Inspect): string =>
  `${name} ${inspect(facts, options)}`
