import { isDataError } from './failure.js'

interface Waiting<Item, Result> {
  items: readonly Item[]
  size: number
  done(results: Result[]): void
  fail(error: unknown): void
}

/** How much is done at a time. */
interface GatherOptions<Item> {
  /** How many items make a batch that takes no more. */
  most: number
  /** How many batches are under way at a time. */
  lanes: number
  /** How large an item is; {@link LARGE} of them make a batch that takes no more. */
  size?: (item: Item) => number
}

/** The characters that one batch carries at the most, but for a single item that is larger. */
const LARGE = 4 * 2 ** 20

/** Collects what is asked for within a turn, or while others are served, and does it together. */
export class Gather<Item, Result> {
  private readonly work: (items: readonly Item[]) => Promise<Result[]>
  private readonly options: GatherOptions<Item>
  private waiting: Waiting<Item, Result>[] = []
  private readonly under = new Set<Promise<void>>()
  private scheduled = false

  /** `work` gives a result for each item, in their order. */
  constructor(work: (items: readonly Item[]) => Promise<Result[]>, options: GatherOptions<Item>) {
    this.work = work
    this.options = options
  }

  /** The items of one call stay together and in their order. */
  put(items: readonly Item[]): Promise<Result[]> {
    const { size: sizeOf = () => 0 } = this.options
    return new Promise((done, fail) => {
      const size = items.reduce((sum, item) => sum + sizeOf(item), 0)
      this.waiting.push({ items, size, done, fail })
      this.schedule()
    })
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.waiting.length > 0 || this.under.size > 0) {
      this.start()
      await Promise.race(this.under)
    }
  }

  private schedule(): void {
    if (this.scheduled || this.under.size >= this.options.lanes) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.start()
    })
  }

  private start(): void {
    while (this.waiting.length > 0 && this.under.size < this.options.lanes) {
      const batch = this.serve(this.next()).finally(() => {
        this.under.delete(batch)
        if (this.waiting.length > 0) this.schedule()
      })
      this.under.add(batch)
    }
  }

  private next(): Waiting<Item, Result>[] {
    let [count, items, size] = [0, 0, 0]
    for (const each of this.waiting) {
      items += each.items.length
      size += each.size
      if (count > 0 && (items > this.options.most || size > LARGE)) break
      count++
    }
    return this.waiting.splice(0, count)
  }

  private async serve(calls: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.work(calls.flatMap(({ items }) => items))
      let at = 0
      for (const { items, done } of calls) done(results.slice(at, (at += items.length)))
    } catch (error) {
      const { cause } = Object(error) as { cause?: unknown }
      // One that cannot be stored must not take the others with it.
      if (calls.length > 1 && isDataError(cause)) for (const call of calls) await this.serve([call])
      else for (const { fail } of calls) fail(error)
    }
  }
}
