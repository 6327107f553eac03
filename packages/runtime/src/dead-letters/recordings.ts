import type { RuntimeContext } from '@holdfast/config'

/**
 * Records the results of replays. Where the store prefers batches (`leaseBatch`), a handler does not wait for the record of
 * the previous one: a limited number of results can be pending.
 */
export class Recordings {
  private readonly max: number
  private readonly pending = new Set<Promise<void>>()
  private failed: { readonly error: unknown } | undefined = undefined

  constructor(runtime: RuntimeContext) {
    this.max = runtime.store.deadLetters.leaseBatch ?? 1
  }

  /** Resolves when another result can be added. Rejects where a result could not be recorded. */
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

  /** Resolves when all results are recorded. Rejects where a result could not be recorded. */
  async idle(): Promise<void> {
    await Promise.all(this.pending)
    this.check()
  }

  private check(): void {
    if (this.failed !== undefined) throw this.failed.error
  }
}
