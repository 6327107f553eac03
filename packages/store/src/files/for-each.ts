/** How many files are read or written at a time. */
const MAX_CONCURRENT_FILES = 16

/** Runs the work for each item, several at a time. */
export async function forEachConcurrent<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT_FILES }, async () => {
      for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value)
    }),
  )
}
