import { RedisErrorReply, WRONG_TYPE } from './reply.js'

export interface StreamEntry {
  readonly ms: number
  readonly seq: number
  readonly fields: readonly string[]
}

interface Stream {
  entries: StreamEntry[]
  last: { ms: number; seq: number }
}

/** The data of a key by its type. */
interface DataByType {
  string: { text: string }
  hash: Map<string, string>
  zset: Map<string, number>
  stream: Stream
}
export type KeyType = keyof DataByType

/** A key with its data. */
export interface KeyRecord<T extends KeyType = KeyType> {
  readonly type: T
  readonly data: DataByType[T]
  /** When the key expires, in milliseconds since 1970. */
  expiresAt: number | undefined
}

const EMPTY: { [T in KeyType]: () => DataByType[T] } = {
  string: () => ({ text: '' }),
  hash: () => new Map(),
  zset: () => new Map(),
  stream: () => ({ entries: [], last: { ms: 0, seq: 0 } }),
}

function copyRecord({ type, data, expiresAt }: KeyRecord): KeyRecord {
  if (data instanceof Map)
    return { type, data: new Map<string, never>(data as Map<string, never>), expiresAt }
  if ('entries' in data)
    return { type, data: { entries: [...data.entries], last: { ...data.last } }, expiresAt }
  return { type, data: { ...data }, expiresAt }
}

/** How often Redis flushes its log with `appendfsync everysec`. */
const FLUSH_INTERVAL_MS = 1000

/** All keys, with the state at the last flush of the log to the disk. */
export class Keyspace {
  private readonly records = new Map<string, KeyRecord>()
  /** The keys that have changed since the last flush, as they were then. */
  private readonly flushed = new Map<string, KeyRecord | undefined>()
  private flushNumber = 0

  /** Reads a key. Undefined if it does not exist or has expired. */
  get<T extends KeyType>(key: string, type: T, now: number): KeyRecord<T> | undefined {
    const record = this.find(key, now)
    if (record !== undefined && record.type !== type) throw new RedisErrorReply(WRONG_TYPE)
    return record as KeyRecord<T> | undefined
  }

  /** Reads a key for a change, and creates it if necessary. */
  getOrCreate<T extends KeyType>(key: string, type: T, now: number): KeyRecord<T> {
    const found = this.get(key, type, now)
    this.saveFlushed(key, now)
    if (found !== undefined) return found
    const created: KeyRecord<T> = { type, data: EMPTY[type](), expiresAt: undefined }
    this.records.set(key, created as unknown as KeyRecord)
    return created
  }

  /** Reads an existing key for a change. */
  getForChange<T extends KeyType>(key: string, type: T, now: number): KeyRecord<T> | undefined {
    const found = this.get(key, type, now)
    if (found !== undefined) this.saveFlushed(key, now)
    return found
  }

  /** Reads a key of any type. */
  find(key: string, now: number): KeyRecord | undefined {
    const record = this.records.get(key)
    if (record?.expiresAt === undefined || now <= record.expiresAt) return record
    this.saveFlushed(key, now)
    this.records.delete(key)
    return undefined
  }

  setExpiry(key: string, expiresAt: number | undefined, now: number): boolean {
    const record = this.find(key, now)
    if (record === undefined) return false
    this.saveFlushed(key, now)
    record.expiresAt = expiresAt
    return true
  }

  delete(key: string, now: number): boolean {
    if (this.find(key, now) === undefined) return false
    this.saveFlushed(key, now)
    return this.records.delete(key)
  }

  /** Deletes a hash or a sorted set without entries, as Redis does. */
  deleteIfEmpty(key: string, now: number): void {
    const data = this.find(key, now)?.data
    if (data instanceof Map && data.size === 0) this.delete(key, now)
  }

  keys(now: number): string[] {
    return [...this.records.keys()].filter((key) => this.find(key, now) !== undefined)
  }

  /** Deletes all keys, also those on the disk. */
  clear(): void {
    this.records.clear()
    this.flushed.clear()
  }

  /** Returns to the state of the last flush. */
  losePendingWrites(): void {
    for (const [key, record] of this.flushed)
      if (record === undefined) this.records.delete(key)
      else this.records.set(key, record)
    this.flushed.clear()
  }

  /** Keeps the state of a key at the last flush. Called before each change. */
  private saveFlushed(key: string, now: number): void {
    const flushNumber = Math.floor(now / FLUSH_INTERVAL_MS)
    if (flushNumber !== this.flushNumber) {
      this.flushNumber = flushNumber
      this.flushed.clear()
    }
    if (this.flushed.has(key)) return
    const record = this.records.get(key)
    this.flushed.set(key, record && copyRecord(record))
  }
}
