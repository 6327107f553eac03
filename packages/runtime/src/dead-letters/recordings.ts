import type { RuntimeContext } from '@holdfast/config'

/**
 * Results of replays on their way into the store. Where the store says that many are best recorded together (`leaseBatch`), a
 * handler does not wait for the record of the one before it: at most so many results are on their way at a time.
 */
export class Recordings {
  private readonly max: number
  private readonly pending = new Set<Promise<void>>()
  private failed: { readonly error: unknown } | undefined = undefined

  constructor(runtime: RuntimeContext) {
    this.max = runtime.store.deadLetters.leaseBatch ?? 1
  }

  /** Resolves when there is room for another. Rejects where one could not be recorded. */
  async add(record: () => Promise<void>): Promise<void> {
    const recorded: Promise<void> = record()
      .catch((error: unknown) => {
        this.failed ??= { error }
      })
      .finally(() => this.pending.delete(recorded))
    this.pending.add(recorded)
    if (this.max === 1) await recorded
    else while (this.pending.size >= this.max) await Promise.race(this.pending)
    this.check()
  }

  /** Resolves when all is recorded. Rejects where one could not be. */
  async idle(): Promise<void> {
    await Promise.all(this.pending)
    this.check()
  }

  private check(): void {
    if (this.failed !== undefined) throw this.failed.error
  }
}
