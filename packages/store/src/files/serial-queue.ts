/** A queued item with the promise of its caller. */
interface PendingItem<T, R> {
  item: T
  resolve(result: R): void
  reject(error: unknown): void
}

/**
 * Processes items in batches, one batch at a time. Items that are added while a batch is running go into the next one, so that
 * many callers share one lock and one flush. `work` returns one result per item, an Error for an item that failed.
 */
export class SerialQueue<T, R> {
  private pending: PendingItem<T, R>[] = []
  private running: Promise<void> | undefined
  private readonly work: (batch: readonly T[]) => Promise<readonly (R | Error)[]>

  constructor(work: (batch: readonly T[]) => Promise<readonly (R | Error)[]>) {
    this.work = work
  }

  enqueue(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.pending.push({ item, resolve, reject })
      this.running ??= this.run()
    })
  }

  /** Resolves when no batch is running. */
  async whenIdle(): Promise<void> {
    while (this.running !== undefined) await this.running
  }

  private async run(): Promise<void> {
    // Items that are added in the same turn of the event loop go into the first batch.
    await Promise.resolve()
    while (this.pending.length > 0) {
      const batch = this.pending
      this.pending = []
      try {
        const results = await this.work(batch.map(({ item }) => item))
        batch.forEach(({ resolve, reject }, i) => {
          const result = results[i] as R | Error
          if (result instanceof Error) reject(result)
          else resolve(result)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.running = undefined
  }
}
