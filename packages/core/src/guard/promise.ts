/** Something that settles a promise. */
export interface Settling<T> {
  resolve: (value: T) => void
  reject: (error: unknown) => void
}

let opening: Settling<never> | undefined

/** One for all promises: a function of its own for each would be a tenth of what a call allocates. */
const open = (resolve: (value: never) => void, reject: (error: unknown) => void): void => {
  const settling = opening as Settling<never>
  settling.resolve = resolve
  settling.reject = reject
}

/** A promise that `settling` settles. */
export function newPromise<T>(settling: Settling<T>): Promise<T> {
  opening = settling as Settling<never>
  const promise = new Promise<never>(open)
  opening = undefined
  return promise
}
