import { wallTime } from '../platform.js'

/** Where results are cached: the option `cacheTransport`. */
export interface CacheTransport {
  get(key: string): unknown
  /** @param expiresAt - epoch milliseconds, 0 for never */
  set(key: string, value: unknown, expiresAt: number): void
  flush(): void
}

/** The largest number of entries of a Map. */
const MAX_ENTRIES = 2 ** 24 - 1

/** The default cache: a Map that deletes its oldest entry when it is full. */
export class MemoryCache implements CacheTransport {
  private readonly cache = new Map<string, { expiresAt: number; value: unknown }>()
  private readonly maxEntries: number

  constructor(maxEntries?: number) {
    this.maxEntries = maxEntries ?? MAX_ENTRIES
  }

  get(key: string): unknown {
    const cached = this.cache.get(key)
    if (cached === undefined) return undefined
    if (cached.expiresAt === 0 || cached.expiresAt > wallTime()) return cached.value
    this.cache.delete(key)
    return undefined
  }

  set(key: string, value: unknown, expiresAt: number): void {
    if (this.cache.size === this.maxEntries && this.get(key) === undefined) {
      const [oldest] = this.cache.keys()
      if (oldest !== undefined) this.cache.delete(oldest)
    }
    this.cache.set(key, { expiresAt, value })
  }

  delete(key: string): void {
    this.cache.delete(key)
  }

  flush(): void {
    this.cache.clear()
  }
}
