/** A function that does what its script says, and remembers how it was called. */
export interface Scripted<T> {
  /** Plays the next outcome. */
  (...args: unknown[]): Promise<T>
  /** How often it was called. */
  readonly calls: number
  /** The arguments of each call. */
  readonly args: readonly (readonly unknown[])[]
}

/**
 * A function that throws each Error and returns each other value of the list in turn. When the list is used up, its last
 * outcome is repeated; an empty list returns undefined.
 *
 * @example
 * ```ts
 * import { scripted } from 'holdfast/testing'
 *
 * const fn = scripted([1, 2])
 * await fn('a') // => 1
 * await fn('b') // => 2
 * fn.calls // => 2
 * fn.args // => [['a'], ['b']]
 * ```
 */
export function scripted<T>(outcomes: readonly (T | Error)[]): Scripted<T> {
  const args: unknown[][] = []
  const fn = async (...callArgs: unknown[]): Promise<T> => {
    const outcome = outcomes[Math.min(args.length, outcomes.length - 1)]
    args.push(callArgs)
    if (outcome instanceof Error) throw outcome
    return outcome as T
  }
  return Object.defineProperties(fn, {
    args: { value: args },
    calls: { get: () => args.length },
  }) as Scripted<T>
}
