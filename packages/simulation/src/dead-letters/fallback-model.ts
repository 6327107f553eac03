import { isDeepStrictEqual } from 'node:util'
import { type DeadLetter, deepCopy } from '@holdfast/records'
import type { Added, Store } from '@holdfast/store'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'

/** The state of a disk fallback that shows whether its entries will be moved. */
interface FallbackState {
  readonly isClosed: boolean
  readonly timer: unknown
  readonly currentMove: unknown
  readonly unmovableIds: ReadonlySet<string>
}

/** A store with a disk fallback. */
interface FallbackStore {
  readonly state?: { readonly diskFallback?: FallbackState }
}

/**
 * The promise of the disk fallback of one node: an entry that it has acknowledged stays on the disk until the database has it, and as
 * long as there is one, a move runs or a timer starts the next one.
 */
export class FallbackModel {
  /** The payloads of the entries that the fallback has acknowledged and not deleted, by id. */
  private readonly keptPayloads = new Map<string, unknown>()
  /**
   * The entries whose deletion has begun, which the database has. It can fail, or its process can die, after the file is deleted and
   * before the folder is flushed.
   */
  private readonly deletedIds = new Set<string>()
  keptCount = 0
  movedCount = 0
  private readonly isInDatabase: (id: string) => boolean
  private readonly isOnDisk: (id: string) => boolean

  /**
   * @param isInDatabase - whether an entry, or the one of which the id is an alias, is or was in the database
   * @param isOnDisk - whether the disk has the file of an entry
   */
  constructor(isInDatabase: (id: string) => boolean, isOnDisk: (id: string) => boolean) {
    this.isInDatabase = isInDatabase
    this.isOnDisk = isOnDisk
  }

  get isEmpty(): boolean {
    return this.keptPayloads.size === 0
  }

  /** Whether the fallback has an entry with this payload. */
  hasKept(id: string, payload: unknown): boolean {
    return this.keptPayloads.has(id) && isDeepStrictEqual(this.keptPayloads.get(id), payload)
  }

  /** Observes the files of a process. */
  observe({ deadLetters }: Store, process: Process, check: (fn: () => void) => void): void {
    const add = deadLetters.add.bind(deadLetters)
    const purge = deadLetters.purge.bind(deadLetters)
    deadLetters.add = async (entries, limits) => {
      const results = await add(entries, limits)
      if (process.isAlive) this.onAdded(entries, results)
      return results
    }
    deadLetters.purge = async (filter, now) => {
      if (process.isAlive) for (const id of filter.ids ?? []) check(() => this.checkMoved(id))
      const count = await purge(filter, now)
      if (process.isAlive) for (const id of filter.ids ?? []) this.onDeleted(id)
      return count
    }
  }

  /** Checks that something will move the entries of a process. */
  checkScheduled({ name, runtime }: Process): void {
    const { diskFallback } = (runtime?.store as FallbackStore | undefined)?.state ?? {}
    if (diskFallback === undefined || diskFallback.isClosed) return
    if (diskFallback.timer !== undefined || diskFallback.currentMove !== undefined) return
    for (const id of this.keptPayloads.keys())
      if (!diskFallback.unmovableIds.has(id) && !this.isGone(id))
        throw new Violation(
          'lost',
          `${id} is in the disk fallback of ${name}, and nothing will move it to PostgreSQL`,
        )
  }

  /** Checks that all entries were moved, some time after the faults. */
  checkEmpty(node: string): void {
    for (const id of this.keptPayloads.keys())
      if (!this.isGone(id))
        throw new Violation('lost', `${id} is still in the disk fallback of ${node} after the faults`)
  }

  private onAdded(entries: readonly DeadLetter[], results: readonly Added[]): void {
    for (const [i, { dlqId, originalPayload }] of entries.entries()) {
      if (results[i]?.result !== 'added') continue
      this.keptPayloads.set(dlqId, deepCopy(originalPayload))
      this.keptCount++
    }
  }

  private checkMoved(id: string): void {
    if (!this.keptPayloads.has(id)) return
    if (!this.isInDatabase(id))
      throw new Violation('lost', `${id} is deleted from the disk fallback, and PostgreSQL does not have it`)
    this.deletedIds.add(id)
  }

  /** Whether the file of an entry was deleted although its deletion was not acknowledged. */
  private isGone(id: string): boolean {
    if (!this.deletedIds.has(id) || this.isOnDisk(id)) return false
    this.onDeleted(id)
    return true
  }

  private onDeleted(id: string): void {
    this.deletedIds.delete(id)
    if (this.keptPayloads.delete(id)) this.movedCount++
  }
}
