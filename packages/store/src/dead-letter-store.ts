import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import type { Page, PageOptions, TimeRange } from './journals.js'

/** Selects dead letters. */
export interface DeadLetterFilter extends PageOptions, TimeRange {
  /** Only entries of this operation. */
  operation?: string | undefined
  /** Only entries with this status, or with one of these. */
  status?: DeadLetterStatus | readonly DeadLetterStatus[] | undefined
  /** Only entries of this item. */
  itemId?: string | undefined
}

/** Selects dead letters for a change or a count, without a page. */
export type DeadLetterSelector = Omit<DeadLetterFilter, keyof PageOptions>

/**
 * The result of adding an entry. A store that lost the response to an insert may send it again and find the entry of the first
 * send. The entry of a duplicate then has the id of the added one.
 */
export type Added =
  | { result: 'added'; entry: DeadLetter }
  /** An entry with this idempotency key and the same payload exists already. */
  | { result: 'known'; entry: DeadLetter }
  /** An entry with this idempotency key and another payload exists already. */
  | { result: 'conflict'; entry: DeadLetter }
  | { result: 'full' }

/** The result of acquiring a lease. */
export type Leased =
  | { result: 'leased'; entry: DeadLetter }
  | { result: 'missing' }
  /** Another owner holds the lease until this time. */
  | { result: 'held'; until: Date }
  /** The entry is completed and cannot be replayed. */
  | { result: 'done'; entry: DeadLetter }

/** The result of editing a payload. */
export type Edited =
  | { result: 'edited'; entry: DeadLetter }
  | { result: 'missing' }
  /** Another owner holds the lease until this time. */
  | { result: 'held'; until: Date }
  /** The entry is completed and is not replayed again. */
  | { result: 'done'; entry: DeadLetter }

/** The payloads of an entry, as they are stored. */
export type StoredPayloads = Pick<DeadLetter, 'originalPayload' | 'editedPayload'>

/** The outcome of a replay. */
export interface Settlement {
  /** The new status of the entry. */
  status: 'completed' | 'failed' | 'pending'
  /** When the replay ended. */
  at: Date
  /** Appended to the history of the entry if the replay failed. */
  error?: DeadLetter['errorDetails'] | undefined
}

/** The numbers of dead letters. */
export interface DeadLetterStats {
  /** The number of all entries. */
  total: number
  /** The number of entries with each status. */
  byStatus: Record<DeadLetterStatus, number>
  /** The number of entries with each status, by operation. */
  byOperation: Record<string, Record<DeadLetterStatus, number>>
  /** When the oldest entry that is not completed was created. */
  oldest?: Date | undefined
}

/**
 * The queue of dead letters. Every change is atomic, and durable when its promise resolves. Times are passed in, so that a store
 * has no clock. `owner` identifies the holder of a lease. An entry whose lease has expired counts as `pending` everywhere,
 * including lists and statistics, without a cleanup.
 */
export interface DeadLetterStore {
  /**
   * How many entries a process with fast handlers should lease and settle together, for a store where each change costs a round
   * trip and a flush. @defaultValue 1
   */
  readonly leaseBatch?: number | undefined
  /**
   * Adds entries, each with its own result. `maxEntries` limits those that are not completed. Entries of one call of
   * `add` are flushed together.
   */
  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]>
  /** Returns an entry; undefined for an unknown id. */
  get(id: string, now: Date): Promise<DeadLetter | undefined>
  /** Lists entries, oldest first by default. */
  list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>>
  /** Returns the number of matching entries with each status. */
  count(selector: DeadLetterSelector, now: Date): Promise<Record<DeadLetterStatus, number>>
  /** Acquires a lease: the entry is `replaying` until it is settled or the lease expires. */
  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased>
  /** Acquires leases on the oldest matching entries that are not leased; only on those with a replay request, if `requested`. */
  leaseNext(
    want: {
      operations?: readonly string[] | undefined
      statuses: readonly ('pending' | 'failed')[]
      itemId?: string | undefined
      from?: Date | undefined
      to?: Date | undefined
      requested?: boolean | undefined
      limit: number
      /** Only these ids. */
      ids?: readonly string[] | undefined
      /** Ids to skip. */
      except?: ReadonlySet<string> | undefined
    },
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]>
  /** Extends a lease. False if the owner does not hold it any more. */
  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean>
  /**
   * Ends a lease. `completed` records the id as processed. Undefined if the owner does not hold the lease any more:
   * the result of a late worker changes nothing, unless it is `completed` and the entry is not completed yet, because the work
   * has been done and must not be repeated.
   */
  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined>
  /** Marks an entry as completed without a replay. Undefined for an unknown id. Completing it twice changes nothing. */
  complete(id: string, at: Date): Promise<DeadLetter | undefined>
  /** Records a request to replay an entry. Undefined for an unknown id. */
  request(id: string, at: Date): Promise<DeadLetter | undefined>
  /**
   * Replaces the edited payload of an entry that is neither leased nor completed; the original payload stays. Null removes the
   * edited payload.
   */
  edit(id: string, editedPayload: unknown, now: Date): Promise<Edited>
  /** Whether an entry was completed, even if it has been purged since, until {@link deleteProcessedIds} deletes its id. */
  isProcessed(id: string): Promise<boolean>
  /**
   * Deletes the ids of processed entries that do not exist any more and were completed on an earlier day (UTC) than this time.
   * Returns how many. An entry must not be added again under a deleted id, because it could be completed twice.
   */
  deleteProcessedIds(before: Date): Promise<number>
  /**
   * Deletes matching entries that are not leased. Returns how many. `ids` selects single entries. Many entries are deleted in
   * batches, between which other calls run: an entry that is leased before its batch stays. An entry that is added meanwhile may
   * be deleted by stores in databases; stores in memory and in files keep it.
   */
  purge(filter: DeadLetterFilter & { ids?: readonly string[] | undefined }, now: Date): Promise<number>
  /** Returns the numbers of entries by status and operation. */
  stats(now: Date): Promise<DeadLetterStats>
  /**
   * Replaces the payload of an entry, and its edited payload unless undefined, for key rotation. True if the entry has the written
   * payloads then. False if it has other payloads than `read`, because it was edited meanwhile: then nothing changes. Undefined for
   * an unknown id.
   */
  rewrite(id: string, read: StoredPayloads, written: StoredPayloads): Promise<boolean | undefined>
  /**
   * Sets the function that compares the payloads of two entries, which may be encrypted; it throws if a key is missing. Absent
   * in a store that does not accept entries before it can compare them.
   */
  compareWith?(same: (a: DeadLetter, b: DeadLetter) => boolean): void
  /**
   * Calls the listener when a replay may have been requested in any process, and once when it starts to listen. Returns a
   * function that ends the subscription. Absent in a store without notifications: its queue is polled.
   */
  onRequest?(listener: () => void): () => void
}

/** The methods of a queue that another thread or a server can run, except for `add`. */
export const DEAD_LETTER_METHODS = [
  'get',
  'list',
  'count',
  'lease',
  'leaseNext',
  'renew',
  'settle',
  'complete',
  'request',
  'edit',
  'isProcessed',
  'deleteProcessedIds',
  'purge',
  'stats',
  'rewrite',
] as const satisfies readonly (keyof DeadLetterStore)[]
