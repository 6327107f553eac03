/** The two functions that settle a promise. */
export interface Deferred<T> {
  resolve: (value: T | PromiseLike<T>) => void
  reject: (error: unknown) => void
}

let target: Deferred<never> | undefined

/** One executor function for all promises, because a closure per promise would be a tenth of a call's allocations. */
const assignFunctions = (
  resolve: (value: PromiseLike<never>) => void,
  reject: (error: unknown) => void,
): void => {
  const deferred = target as Deferred<never>
  deferred.resolve = resolve
  deferred.reject = reject
}

/** Creates a promise and stores its functions in `deferred`. */
export function createDeferred<T>(deferred: Deferred<T>): Promise<T> {
  target = deferred as Deferred<never>
  const promise = new Promise<never>(assignFunctions)
  target = undefined
  return promise
}
