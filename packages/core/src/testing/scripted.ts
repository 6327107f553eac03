/** A function with scripted outcomes that records its calls. */
export interface Scripted<T> {
  /** Returns or throws the next outcome. */
  (...args: unknown[]): Promise<T>
  /** The number of calls. */
  readonly calls: number
  /** The arguments of each call. */
  readonly args: readonly (readonly unknown[])[]
}

/**
 * Creates a function that throws each Error and returns each other value of a list in turn. After the end of the list it
 * repeats the last outcome; with an empty list it returns undefined.
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
export function scripted<T>(outcomes: readonly (T | Error)[]): Scripted<Exclude<T, Error>> {
  const args: unknown[][] = []
  const fn = async (...callArgs: unknown[]): Promise<Exclude<T, Error>> => {
    const outcome = outcomes[Math.min(args.length, outcomes.length - 1)]
    args.push(callArgs)
    if (outcome instanceof Error) throw outcome
    return outcome as Exclude<T, Error>
  }
  return Object.defineProperties(fn, {
    args: { value: args },
    calls: { get: () => args.length },
  }) as Scripted<Exclude<T, Error>>
}
