/** Something asked for, with those who wait for it. */
interface PendingItem<T, R> {
  item: T
  resolve(result: R): void
  reject(error: unknown): void
}

/**
 * Work that is done together: what is asked while a batch is under way waits and is done in the next, so that many
 * callers share one lock and one flush. `work` answers each in turn, with an Error for one that is refused.
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

  /** Until nothing is under way. */
  async whenIdle(): Promise<void> {
    while (this.running !== undefined) await this.running
  }

  private async run(): Promise<void> {
    // Whoever asks in the same turn of the event loop comes along.
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
