import { isDataError } from './failure.js'

interface PendingLoad<Item, Result> {
  items: readonly Item[]
  size: number
  done(results: Result[]): void
  fail(error: unknown): void
}

interface BatchLoaderOptions<Item> {
  /** The largest number of items in a batch. */
  maxItems: number
  /** How many batches run at a time. */
  maxConcurrent: number
  /** The size of an item in characters. */
  sizeOf?: (item: Item) => number
  /** Runs a function after the current turn of the event loop. @defaultValue setImmediate */
  runLater?: (fn: () => void) => void
}

/** The largest size of a batch with more than one call. */
const MAX_BATCH_CHARACTERS = 4 * 2 ** 20

/** Collects the items of one turn of the event loop, or those that arrive while batches are running, and processes them together. */
export class BatchLoader<Item, Result> {
  private readonly work: (items: readonly Item[]) => Promise<Result[]>
  private readonly options: BatchLoaderOptions<Item>
  private pending: PendingLoad<Item, Result>[] = []
  private readonly running = new Set<Promise<void>>()
  private isScheduled = false

  /** `work` returns one result per item, in the same order. */
  constructor(work: (items: readonly Item[]) => Promise<Result[]>, options: BatchLoaderOptions<Item>) {
    this.work = work
    this.options = options
  }

  /** Processes items. Those of one call stay together and in order. */
  load(items: readonly Item[]): Promise<Result[]> {
    const { sizeOf = () => 0 } = this.options
    return new Promise((done, fail) => {
      const size = items.reduce((sum, item) => sum + sizeOf(item), 0)
      this.pending.push({ items, size, done, fail })
      this.schedule()
    })
  }

  /** Resolves when the items of earlier calls have been processed. Later ones are not waited for, because they may never end. */
  async whenIdle(): Promise<void> {
    const last = this.pending.at(-1)
    this.startBatch()
    while (last !== undefined && this.pending.includes(last)) {
      await Promise.race(this.running)
      this.startBatch()
    }
    await Promise.all(this.running)
  }

  private schedule(): void {
    if (this.isScheduled || this.running.size >= this.options.maxConcurrent) return
    this.isScheduled = true
    const { runLater = setImmediate } = this.options
    runLater(() => {
      this.isScheduled = false
      this.startBatch()
    })
  }

  private startBatch(): void {
    while (this.pending.length > 0 && this.running.size < this.options.maxConcurrent) {
      const batch = this.runBatch(this.takeBatch()).finally(() => {
        this.running.delete(batch)
        if (this.pending.length > 0) this.schedule()
      })
      this.running.add(batch)
    }
  }

  private takeBatch(): PendingLoad<Item, Result>[] {
    let [count, items, size] = [0, 0, 0]
    for (const each of this.pending) {
      items += each.items.length
      size += each.size
      if (count > 0 && (items > this.options.maxItems || size > MAX_BATCH_CHARACTERS)) break
      count++
    }
    return this.pending.splice(0, count)
  }

  private async runBatch(calls: readonly PendingLoad<Item, Result>[]): Promise<void> {
    try {
      const results = await this.work(calls.flatMap(({ items }) => items))
      let at = 0
      for (const { items, done } of calls) done(results.slice(at, (at += items.length)))
    } catch (error) {
      const { cause } = Object(error) as { cause?: unknown }
      // A call whose data cannot be stored must not fail the others.
      if (calls.length > 1 && isDataError(cause)) for (const call of calls) await this.runBatch([call])
      else for (const { fail } of calls) fail(error)
    }
  }
}
