/** The key of an item in a {@link SortedList}: sorted by `at`, then by `order`. No two items have the same key. */
export interface SortKey {
  readonly at: number
  readonly order: number
}

/** A position between items, where a walk starts. */
export type SortPosition = readonly [at: number, order: number]

/** The largest chunk: small enough for fast inserts, large enough that there are few chunks. */
const CHUNK_SIZE = 512

const compareKeys = (a: SortKey, at: number, order: number) => a.at - at || a.order - order

/**
 * A sorted list in chunks. Adding, deleting and finding cost the logarithm of the number of chunks and a move within one chunk.
 * Adding at the end, the usual case, takes constant time.
 */
export class SortedList<T extends SortKey> {
  size = 0
  private readonly chunks: T[][] = []

  add(item: T): void {
    this.size++
    const last = this.chunks.at(-1)
    if (last === undefined) {
      this.chunks.push([item])
      return
    }
    if (compareKeys(last.at(-1) as T, item.at, item.order) < 0) {
      // A full chunk at the end is not split, so that chunks of items in order stay full.
      if (last.length < CHUNK_SIZE) last.push(item)
      else this.chunks.push([item])
      return
    }
    const at = this.chunkOf(item.at, item.order)
    const chunk = this.chunks[at] as T[]
    chunk.splice(indexIn(chunk, item.at, item.order), 0, item)
    if (chunk.length > CHUNK_SIZE) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK_SIZE / 2))
  }

  delete(item: SortKey): void {
    const at = this.chunkOf(item.at, item.order)
    const chunk = this.chunks[at]
    if (chunk === undefined) return
    const index = indexIn(chunk, item.at, item.order)
    const found = chunk[index]
    if (found === undefined || compareKeys(found, item.at, item.order) !== 0) return
    chunk.splice(index, 1)
    this.size--
    if (chunk.length === 0) this.chunks.splice(at, 1)
  }

  /** The first item. */
  first(): T | undefined {
    return this.chunks[0]?.[0]
  }

  /** Walks upwards from the first item at or after a position. The list must not change meanwhile. */
  *from(at: number, order: number): Generator<T, undefined> {
    let c = this.chunkOf(at, order)
    let i = this.chunks[c] === undefined ? 0 : indexIn(this.chunks[c] as T[], at, order)
    for (; c < this.chunks.length; c++, i = 0) {
      const chunk = this.chunks[c] as T[]
      for (; i < chunk.length; i++) yield chunk[i] as T
    }
    return undefined
  }

  /** Walks downwards from the last item before a position. */
  *before(at: number, order: number): Generator<T, undefined> {
    let c = Math.min(this.chunkOf(at, order), this.chunks.length - 1)
    if (c < 0) return undefined
    let i = indexIn(this.chunks[c] as T[], at, order) - 1
    while (c >= 0) {
      const chunk = this.chunks[c] as T[]
      for (; i >= 0; i--) yield chunk[i] as T
      c--
      i = (this.chunks[c]?.length ?? 0) - 1
    }
    return undefined
  }

  /** The index of the first chunk whose last item is not before a position. */
  private chunkOf(at: number, order: number): number {
    let low = 0
    let high = this.chunks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareKeys((this.chunks[middle] as T[]).at(-1) as T, at, order) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

function indexIn(chunk: readonly SortKey[], at: number, order: number): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareKeys(chunk[middle] as SortKey, at, order) < 0) low = middle + 1
    else high = middle
  }
  return low
}
