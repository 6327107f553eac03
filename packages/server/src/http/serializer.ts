/** Lets changes through one after the other, so that what one has checked still holds when it is made. */
export function createSerializer(): <T>(change: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (change) => {
    const created = last.then(change)
    last = created.catch(() => undefined)
    return created
  }
}
