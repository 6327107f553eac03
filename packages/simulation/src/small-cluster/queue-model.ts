import { isDeepStrictEqual } from 'node:util'
import type { DeadLetter } from '@holdfast/records'
import type { Added, DeadLetterStats, KeyRing } from '@holdfast/store'
import type { Edited } from '../../../store/src/dead-letter-store.js'
import { Violation } from '../engine/violation.js'
import type { StoreCall } from './store-port.js'

interface StoredEntry {
  readonly id: string
  readonly key: string
  readonly operation: string
  readonly payload: unknown
  editedPayload: unknown
  isCompleted: boolean
  isRequested: boolean
}

/** The fraction of the limit at which a process warns. */
const WARN_FRACTION = 0.8

/** The entries of the queue as the store has them, with their payloads as the callers passed them. */
export class QueueModel {
  readonly entries = new Map<string, StoredEntry>()
  private readonly maxEntries: number
  private readonly keys: KeyRing
  private readonly isEncrypted: boolean
  private readonly byKey = new Map<string, StoredEntry>()
  private readonly fullKeys = new Set<string>()
  private readonly enqueuedEvents = new Map<string, number>()
  /** The entries that a process knows to be stored, and since when. */
  private readonly known = new Map<string, { readonly process: string; readonly at: number }>()
  /** Processes that have warned since they last read a lower number, and those that have ever warned. */
  private readonly warned = new Set<string>()
  private readonly everWarned = new Set<string>()
  private readonly uncounted = new Set<string>()
  openCount = 0
  warningCount = 0

  constructor(maxEntries: number, keys: KeyRing) {
    this.maxEntries = maxEntries
    this.keys = keys
    this.isEncrypted = keys.newestId !== undefined
  }

  onExecuted({ method, args }: StoreCall, result: unknown): void {
    switch (method) {
      case 'deadLetters.add':
        return this.onAdded(args as never, result as Added[])
      case 'deadLetters.settle':
        if (result !== undefined) this.onChanged(result as DeadLetter, args[2] as { status: string })
        return
      case 'deadLetters.complete':
        if (result !== undefined) this.onChanged(result as DeadLetter, { status: 'completed' })
        return
      case 'deadLetters.request':
        if (result !== undefined) this.require((result as DeadLetter).dlqId).isRequested = true
        return
      case 'deadLetters.edit': {
        const edited = result as Edited
        if (edited.result !== 'edited') return
        const { dlqId, editedPayload } = edited.entry
        this.checkSecret(dlqId, editedPayload)
        this.require(dlqId).editedPayload =
          editedPayload == null ? undefined : this.keys.decrypt(editedPayload, dlqId)
        return
      }
      case 'deadLetters.purge':
        // Completed entries are deleted if they are too many.
        if (result !== 0 && (args[0] as { status?: string }).status !== 'completed')
          throw new Violation('lost', `${String(result)} entries were deleted too early`)
    }
  }

  /** A count of a process failed. Until the next one it does not wait for counts, and other parts of it count as well. */
  onCountFailed(process: string): void {
    this.uncounted.add(process)
  }

  /** A process gets the numbers of entries. */
  onCounted(process: string, { total, byStatus }: DeadLetterStats): void {
    if (total - byStatus.completed < WARN_FRACTION * this.maxEntries) this.warned.delete(process)
  }

  /** A process has started. If the queue was nearly full, it has warned before a listener could be registered. */
  onStarted(process: string): void {
    if (this.isNearlyFull) this.everWarned.add(process)
  }

  /** A process warns that the queue is nearly full. */
  onWarning(process: string, entries: number): void {
    this.warningCount++
    if (this.warned.has(process))
      throw new Violation('capacity', `${process} warned again, and the queue was not emptied meanwhile`)
    if (entries < WARN_FRACTION * this.maxEntries)
      throw new Violation('capacity', `${process} warned at ${entries} of ${this.maxEntries} entries`)
    this.warned.add(process)
    this.everWarned.add(process)
  }

  /** Whether the queue is so full that a process that adds an entry must have warned. */
  get isNearlyFull(): boolean {
    return this.openCount >= WARN_FRACTION * this.maxEntries
  }

  /** A process has added an entry to a queue that was nearly full all the time. */
  checkWarned(process: string): void {
    if (!this.everWarned.has(process) && !this.uncounted.has(process))
      throw new Violation(
        'capacity',
        `${process} has not warned at ${this.openCount} of ${this.maxEntries} entries`,
      )
  }

  /** A caller has stored an item. */
  onAcknowledged(id: string, key: string, payload: unknown): void {
    const entry = this.entries.get(id)
    if (entry === undefined || entry.key !== key)
      throw new Violation('lost', `${id} was acknowledged, and the store does not have it`)
    if (!isDeepStrictEqual(entry.payload, payload))
      throw new Violation('lost', `${id} was acknowledged with another payload than the store has`)
  }

  /** A caller could not store an item. */
  onRejected(key: string, payload: unknown, code: unknown, hadFault: boolean): void {
    const known = this.byKey.get(key)
    const isConflict = known !== undefined && !isDeepStrictEqual(known.payload, payload)
    if (code === 'IDEMPOTENCY_CONFLICT' && isConflict) return
    if (code === 'DEAD_LETTERS_FULL' && this.fullKeys.has(key)) return
    if (code === 'STORE_UNAVAILABLE' && hadFault) return
    throw new Violation('lost', `an item with the key ${key} was rejected with ${String(code)}`)
  }

  /** Whether the store has rejected an item because the queue is full. */
  isFullFor(key: string): boolean {
    return this.fullKeys.has(key)
  }

  /** A handler gets a payload: the edited one, or that of the caller. */
  onHandled(id: string, payload: unknown): void {
    const { payload: original, editedPayload } = this.require(id)
    if (!isDeepStrictEqual(payload, editedPayload ?? original))
      throw new Violation('lost', `the handler of ${id} got another payload than was stored`)
  }

  /** A process reports that it has stored a new entry. */
  onEnqueuedEvent(id: string): void {
    const count = (this.enqueuedEvents.get(id) ?? 0) + 1
    this.enqueuedEvents.set(id, count)
    if (count > 1) throw new Violation('lost', `the event that ${id} was stored was emitted twice`)
  }

  /** A process gets the reply to an insert. */
  onInsertReplied(process: string, entries: readonly DeadLetter[], now: number): void {
    for (const { dlqId } of entries) if (this.entries.has(dlqId)) this.known.set(dlqId, { process, at: now })
  }

  /** Checks that a process has reported every new entry that it had stored before a time. */
  checkReported(process: string, before: number): void {
    for (const [id, { process: other, at }] of this.known)
      if (other === process && at < before && !this.enqueuedEvents.has(id))
        throw new Violation('counters', `${process} has stored ${id}, and no event reports it`)
  }

  /** All payloads that existed before a rotation are encrypted with its newest key. */
  checkRotated(ids: readonly string[], keys: KeyRing, read: (id: string) => DeadLetter | undefined): void {
    for (const id of ids) {
      const { originalPayload, editedPayload } = read(id) ?? {}
      if (originalPayload === undefined) continue
      const isOld =
        keys.needsRotation(originalPayload) || (editedPayload != null && keys.needsRotation(editedPayload))
      if (isOld) throw new Violation('lost', `${id} is not encrypted with the newest key after a rotation`)
    }
  }

  /** At the end every entry is completed, and its payload is that of its caller. */
  checkAll(read: (id: string) => DeadLetter | undefined): void {
    for (const { id, payload, isCompleted } of this.entries.values()) {
      const stored = read(id)
      if (stored === undefined && isCompleted) continue
      if (stored === undefined) throw new Violation('lost', `${id} is not in the store`)
      if (!isDeepStrictEqual(this.keys.decrypt(stored.originalPayload, id), payload))
        throw new Violation('lost', `the payload of ${id} has changed`)
      if (stored.status !== 'completed')
        throw new Violation('hangs', `${id} (${stored.operationType}) is ${stored.status} at the end`)
    }
  }

  private require(id: string): StoredEntry {
    const entry = this.entries.get(id)
    if (entry === undefined) throw new Violation('lost', `${id} is not in the store`)
    return entry
  }

  private onAdded(args: [DeadLetter[], { maxEntries: number }], results: readonly Added[]): void {
    const [entries, { maxEntries }] = args
    if (maxEntries !== this.maxEntries)
      throw new Violation('capacity', `an insert has the limit ${maxEntries}, expected ${this.maxEntries}`)
    for (const [at, added] of results.entries()) {
      const { idempotencyKey: key, originalPayload, dlqId, operationType } = entries[at] as DeadLetter
      if (added.result === 'full') this.fullKeys.add(key)
      if (added.result !== 'added') continue
      if (this.byKey.has(key)) throw new Violation('lost', `two entries have the key ${key}`)
      this.checkSecret(dlqId, originalPayload)
      const entry: StoredEntry = {
        id: dlqId,
        key,
        operation: operationType,
        payload: this.keys.decrypt(originalPayload, dlqId),
        editedPayload: undefined,
        isCompleted: false,
        isRequested: false,
      }
      this.entries.set(dlqId, entry)
      this.byKey.set(key, entry)
      if (++this.openCount > this.maxEntries)
        throw new Violation(
          'capacity',
          `the store has ${this.openCount} entries, the limit is ${this.maxEntries}`,
        )
    }
  }

  private onChanged({ dlqId }: DeadLetter, { status }: { status: string }): void {
    const entry = this.require(dlqId)
    if (status !== 'pending') entry.isRequested = false
    if (status !== 'completed' || entry.isCompleted) return
    entry.isCompleted = true
    this.openCount--
  }

  private checkSecret(id: string, stored: unknown): void {
    if (this.isEncrypted && stored != null && JSON.stringify(stored).includes('secret'))
      throw new Violation('lost', `the payload of ${id} is stored without encryption`)
  }
}
