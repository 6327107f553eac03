import type { DeadLetter } from '@holdfast/records'
import type { Added, DeadLetterStore, StoredPayloads } from '../dead-letter-store.js'
import { toJsonValue } from '../payload.js'
import {
  type EncodedDeadLetter,
  encodeDeadLetter,
  type Inserted,
  payloadSize,
} from './dead-letter-inserts.js'
import { nodePlatform, type SqlitePlatform } from './platform.js'

const toJsonPayloads = ({ originalPayload, editedPayload }: StoredPayloads): StoredPayloads => ({
  originalPayload: toJsonValue(originalPayload),
  editedPayload: editedPayload === undefined ? undefined : toJsonValue(editedPayload),
})

/** How many entries, or characters of payloads, are added together at most. */
const MAX_BATCH = { entries: 512, size: 2 ** 20 } as const

/** A queue that stores serialized entries. */
export interface DeadLetterRows extends Omit<DeadLetterStore, 'add'> {
  insert(entries: readonly EncodedDeadLetter[]): Promise<Inserted[]>
}

/** Entries that wait to be added together. */
interface AddBatch {
  readonly entries: EncodedDeadLetter[]
  size: number
  readonly results: Promise<Inserted[]>
  /** Ends the wait with the result of adding. */
  settle(results: Promise<Inserted[]>): void
}

/** Adds entries. All entries of one turn of the event loop are serialized and added together, and so in one transaction. */
class DeadLetterBuffer {
  private readonly rows: DeadLetterRows
  private readonly platform: SqlitePlatform
  private batch: AddBatch | undefined

  constructor(rows: DeadLetterRows, platform: SqlitePlatform) {
    this.rows = rows
    this.platform = platform
  }

  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Added[]> {
    // All entries are serialized first, so that either all of them are added, or none if one has no JSON form.
    const encoded = entries.map((entry) => encodeDeadLetter(entry, maxEntries))
    const results = encoded.map((one) => {
      const batch = (this.batch ??= this.startBatch())
      const index = batch.entries.push(one) - 1
      batch.size += payloadSize(one)
      if (batch.entries.length >= MAX_BATCH.entries || batch.size >= MAX_BATCH.size) this.flush()
      return { index, results: batch.results }
    })
    const added: Added[] = []
    for (const [i, { index, results: inserted }] of results.entries()) {
      const result = (await inserted)[index] as Inserted
      added.push(result.result === 'added' ? { ...result, entry: entries[i] as DeadLetter } : result)
    }
    return added
  }

  private startBatch(): AddBatch {
    let settle: AddBatch['settle'] = () => {}
    const results = new Promise<Inserted[]>((resolve) => (settle = resolve))
    // A caller gets the error of the first batch that failed; those of the others are handled here.
    results.catch(() => {})
    this.platform.runInNextTurn(() => this.flush())
    return { entries: [], size: 0, results, settle }
  }

  /** Adds the waiting entries. */
  flush(): void {
    const { batch } = this
    if (batch === undefined) return
    this.batch = undefined
    batch.settle(this.rows.insert(batch.entries))
  }
}

/** Creates the queue. Reads see all entries that were added before, and payloads become plain JSON as they are stored. */
export function bufferDeadLetters(
  rows: DeadLetterRows,
  platform: SqlitePlatform = nodePlatform,
): Omit<DeadLetterStore, 'compareWith' | 'onRequest'> & { flush(): void } {
  const buffer = new DeadLetterBuffer(rows, platform)
  /** The rows, after the waiting entries have been passed on. */
  const flushed = (): DeadLetterRows => {
    buffer.flush()
    return rows
  }
  return {
    add: (entries, { maxEntries }) => buffer.add(entries, maxEntries),
    flush: () => buffer.flush(),
    get: (...args) => flushed().get(...args),
    list: (...args) => flushed().list(...args),
    count: (...args) => flushed().count(...args),
    lease: (...args) => flushed().lease(...args),
    leaseNext: (...args) => flushed().leaseNext(...args),
    renew: (...args) => flushed().renew(...args),
    settle: (...args) => flushed().settle(...args),
    complete: (...args) => flushed().complete(...args),
    request: (...args) => flushed().request(...args),
    edit: async (id, payload, now) => flushed().edit(id, toJsonValue(payload), now),
    isProcessed: (...args) => flushed().isProcessed(...args),
    deleteProcessedIds: (...args) => flushed().deleteProcessedIds(...args),
    purge: (...args) => flushed().purge(...args),
    stats: (...args) => flushed().stats(...args),
    rewrite: async (id, read, written) =>
      flushed().rewrite(id, toJsonPayloads(read), toJsonPayloads(written)),
  }
}
