import { isDeepStrictEqual } from 'node:util'
import { type DeadLetter, deepCopy } from '@holdfast/records'
import type { Added, DeadLetterStore, Settlement } from '@holdfast/store'
import type { Leased } from '../../../store/src/dead-letter-store.js'
import { Violation } from '../engine/violation.js'
import { isContractCall } from './queue-contract.js'

/** A dead letter as the server has it. */
interface Entry {
  readonly id: string
  readonly payload: unknown
  readonly operation: string
  /** The virtual time at which the server added it. */
  readonly addedAt: number
  /** The holder of the lease, and when it ends by the wall time that was sent. */
  owner: string | undefined
  leasedUntil: number
  isCompleted: boolean
  /** When a replay was requested that has not been made. */
  requestedAt: number | undefined
}

/** A handler that runs. */
export interface HandlerRun {
  readonly id: string
  readonly process: string
  readonly owner: string | undefined
}

/** What the model must know about the cluster. */
export interface ClusterView {
  /** Whether a process could renew its leases all the time: it lived, reached the store, and its clock was right. */
  couldRenew(process: string): boolean
  /** The virtual time. */
  now(): number
  /** Whether all clocks have been right for longer than a lease, within the error that leases tolerate. */
  areClocksRight(): boolean
  /** Whether the disk fallback of a node has an entry with this payload. */
  isInFallback(id: string, payload: unknown): boolean
  /** The id of the entry that another id is an alias of, for ids that a disk fallback has acknowledged. */
  originalOf(id: string): string | undefined
}

type LeaseNextWant = Parameters<DeadLetterStore['leaseNext']>[0]

/**
 * The promises about dead letters, checked with every request that the server executes and every handler that starts: no
 * acknowledged entry is lost, none is completed twice or without a successful handler, and only the holder of a lease settles it.
 */
export class DeadLetterModel {
  readonly entries = new Map<string, Entry>()
  private readonly runs = new Map<string, Set<HandlerRun>>()
  private readonly succeededIds = new Set<string>()
  /** The payloads of the entries that were acknowledged while they were not in the database, by id. */
  private readonly acknowledgedElsewhere = new Map<string, unknown>()
  private readonly completedByHand = new Set<string>()
  private readonly cluster: ClusterView
  acknowledgedCount = 0
  completedCount = 0
  leaseCount = 0

  constructor(cluster: ClusterView) {
    this.cluster = cluster
  }

  /** The server has executed a request. */
  onExecuted(process: string, method: string, args: readonly unknown[], result: unknown): void {
    if (isContractCall(method, args)) return
    switch (method) {
      case 'add':
        return this.onAdded(result as Added[])
      case 'lease': {
        const [id, owner, until, now] = args as [string, string, Date, Date]
        const { result: kind } = result as Leased
        if (kind === 'leased') this.onLeased(process, id, owner, until, now)
        return
      }
      case 'leaseNext': {
        const [want, owner, until, now] = args as [LeaseNextWant, string, Date, Date]
        const leased = result as DeadLetter[]
        if (leased.length > want.limit)
          throw new Violation('lease', `${leased.length} entries were leased, ${want.limit} were requested`)
        for (const { dlqId } of leased) this.onLeased(process, dlqId, owner, until, now)
        return
      }
      case 'renew': {
        const [id, owner, until] = args as [string, string, Date]
        if (result === true) this.onRenewed(id, owner, until)
        return
      }
      case 'settle': {
        const [id, owner, settlement] = args as [string, string, Settlement]
        if (result !== undefined) this.onSettled(id, owner, settlement)
        return
      }
      case 'complete':
        if (result !== undefined) this.completedByHand.add((result as DeadLetter).dlqId)
        if (result !== undefined) this.require((result as DeadLetter).dlqId).isCompleted = true
        return
      case 'request':
        if (result !== undefined) this.require((result as DeadLetter).dlqId).requestedAt = this.cluster.now()
        return
      case 'purge':
        if (result !== 0)
          throw new Violation('lost', `${result} entries were deleted, and nothing requested that`)
    }
  }

  /** The store acknowledged a dead letter to its caller. */
  onAcknowledged(id: string, payload: unknown): void {
    this.acknowledgedCount++
    const entry = this.find(id)
    if (entry === undefined && this.cluster.isInFallback(id, payload)) {
      this.acknowledgedElsewhere.set(id, payload)
      return
    }
    if (entry === undefined)
      throw new Violation('lost', `${id} was acknowledged, and the store does not have it`)
    if (!isDeepStrictEqual(entry.payload, payload))
      throw new Violation('lost', `${id} was acknowledged with another payload than the store has`)
  }

  /** The ids that disk fallbacks have acknowledged. They are valid on all nodes when the entries have been moved. */
  get fallbackIds(): Iterable<string> {
    return this.acknowledgedElsewhere.keys()
  }

  hasFallbackId(id: string): boolean {
    return this.acknowledgedElsewhere.has(id)
  }

  /** The entry with an id, or of which the id is an alias. */
  find(id: string): Entry | undefined {
    const entry = this.entries.get(id)
    if (entry !== undefined) return entry
    const original = this.cluster.originalOf(id)
    return original === undefined ? undefined : this.entries.get(original)
  }

  /** Checks that the entries of the disk fallbacks have reached the database. */
  checkMoved(): void {
    for (const [id, payload] of this.acknowledgedElsewhere) {
      const entry = this.find(id)
      if (entry === undefined)
        throw new Violation('lost', `${id} was acknowledged by a disk fallback, and never reached PostgreSQL`)
      if (!isDeepStrictEqual(entry.payload, payload))
        throw new Violation('lost', `${id} has another payload in PostgreSQL than in the disk fallback`)
    }
  }

  /** A handler starts in a process. Returns its run, which must be ended. */
  onHandlerStarted(id: string, process: string): HandlerRun {
    const entry = this.require(id)
    const run = { id, process, owner: entry.owner }
    const others = this.runs.get(id) ?? new Set()
    // A process knows its own handlers. Another process must wait for the end of the lease. Two exceptions follow from the design
    // and are documented: leases are compared with the wall time of nodes, so a wrong clock ends them too early; and a holder that
    // cannot reach its store cannot renew its lease.
    for (const other of others)
      if (
        other.process === process ||
        (this.cluster.areClocksRight() && this.cluster.couldRenew(other.process))
      )
        throw new Violation('lease', `${process} replays ${id} while ${other.process} replays it`)
    others.add(run)
    this.runs.set(id, others)
    return run
  }

  onHandlerEnded(run: HandlerRun, failed: boolean): void {
    if (!failed) this.succeededIds.add(run.id)
    this.runs.get(run.id)?.delete(run)
  }

  /** A process has died, and with it all of its handlers. */
  onProcessEnded(process: string): void {
    for (const runs of this.runs.values())
      for (const run of runs) if (run.process === process) runs.delete(run)
  }

  /** Compares the server with everything that it has acknowledged. */
  checkAll(read: (id: string) => DeadLetter | undefined): void {
    for (const { id, payload, isCompleted } of this.entries.values()) {
      const stored = read(id)
      if (stored === undefined) throw new Violation('lost', `${id} is not in the store any more`)
      if (!isDeepStrictEqual(stored.originalPayload, payload))
        throw new Violation('lost', `the payload of ${id} has changed`)
      if (isCompleted !== (stored.status === 'completed'))
        throw new Violation(
          'completed',
          `${id} is ${stored.status} after it was ${isCompleted ? '' : 'not '}completed`,
        )
    }
  }

  /** Checks that every replay that was requested before a time has been made. */
  checkServed(before: number): void {
    for (const { id, requestedAt, isCompleted } of this.entries.values())
      if (!isCompleted && requestedAt !== undefined && requestedAt < before)
        throw new Violation('hangs', `the replay of ${id} was requested and never made`)
  }

  /** Checks that no entry from before a time is left, after every node has replayed all of them. */
  checkAllCompleted(before: number): void {
    for (const { id, isCompleted, addedAt } of this.entries.values())
      if (!isCompleted && addedAt < before) throw new Violation('hangs', `no node was able to replay ${id}`)
  }

  private require(id: string): Entry {
    const entry = this.entries.get(id)
    if (entry === undefined) throw new Violation('lost', `${id} is not in the store`)
    return entry
  }

  private onAdded(results: readonly Added[]): void {
    for (const added of results) {
      if (added.result !== 'added') continue
      const { dlqId, originalPayload, operationType } = added.entry
      if (this.entries.has(dlqId)) throw new Violation('lost', `${dlqId} was added twice`)
      this.entries.set(dlqId, {
        id: dlqId,
        payload: deepCopy(originalPayload),
        operation: operationType,
        addedAt: this.cluster.now(),
        owner: undefined,
        leasedUntil: 0,
        isCompleted: false,
        requestedAt: undefined,
      })
    }
  }

  private onLeased(process: string, id: string, owner: string, until: Date, now: Date): void {
    this.leaseCount++
    const entry = this.require(id)
    if (entry.isCompleted) throw new Violation('completed', `${process} leased ${id}, which is completed`)
    if (entry.owner !== undefined && entry.leasedUntil > now.getTime())
      throw new Violation('lease', `${process} leased ${id} while ${entry.owner} holds the lease`)
    entry.owner = owner
    entry.leasedUntil = until.getTime()
  }

  private onRenewed(id: string, owner: string, until: Date): void {
    const entry = this.require(id)
    if (entry.owner !== owner)
      throw new Violation('lease', `${owner} renewed the lease of ${id} without holding it`)
    entry.leasedUntil = until.getTime()
  }

  private onSettled(id: string, owner: string, { status, at }: Settlement): void {
    const entry = this.require(id)
    if (entry.isCompleted)
      throw new Violation('completed', `${owner} settled ${id} as ${status} after it was completed`)
    if (status === 'completed') {
      if (!this.succeededIds.has(id))
        throw new Violation('completed', `${id} is completed, and no handler succeeded`)
      entry.isCompleted = true
      this.completedCount++
    } else if (entry.owner !== owner || entry.leasedUntil <= at.getTime())
      throw new Violation('lease', `${owner} settled ${id} as ${status} without holding the lease`)
    if (status !== 'pending') entry.requestedAt = undefined
    entry.owner = undefined
    entry.leasedUntil = 0
  }
}
