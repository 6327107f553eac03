/** Creates a function that runs changes one after the other, so that the preconditions of a change still hold when it is made. */
export function createSerializer(): <T>(change: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const result = last.then(change)
    last = result.catch(() => undefined)
    return result
  }
}
