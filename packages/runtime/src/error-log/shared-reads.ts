import { runOutsideContext } from 'holdfast/internal'

/**
 * Runs long reads one after another. Callers that wait for the same read share it, so that requests which arrive faster than the
 * store can be read do not accumulate.
 */
export class SharedReads {
  /** The reads that have not started, by their key. */
  private readonly waiting = new Map<string, Promise<unknown>>()
  private last: Promise<unknown> = Promise.resolve()

  /** The result of a read that starts after this call. `key` identifies what is read and the type of the result. */
  run<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.waiting.get(key) as Promise<T> | undefined
    if (known !== undefined) return known
    // The read belongs to several callers, so it runs outside the async context of any of them.
    const shared = runOutsideContext(() =>
      this.last.then(() => {
        this.waiting.delete(key)
        return read()
      }),
    )
    this.waiting.set(key, shared)
    this.last = shared.catch(() => {})
    return shared
  }
}
