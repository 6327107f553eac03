import { isDeepStrictEqual } from 'node:util'
import { type DeadLetter, deepCopy } from '@holdfast/records'
import type { Settlement } from '@holdfast/store'
import type { Added, Leased } from '../../../store/src/dead-letter-store.js'
import { Violation } from '../engine/violation.js'
import type { HandlerRun } from './dead-letter-model.js'
import { isContractCall } from './queue-contract.js'

/** What a power failure would leave, or what the next process finds. */
export type QueueState = 'durable' | 'current'

/** What a store has promised about an entry. */
interface PromisedEntry {
  /** The payload, if the entry was acknowledged. */
  payload: { readonly value: unknown } | undefined
  isCompleted: boolean
  /** The holder of the lease, and when it ends by the wall time that was sent. */
  owner: string | undefined
  leasedUntil: number
  /** The lease that was acknowledged last, until it was settled: also while its settlement is under way. */
  lastLease: Lease | undefined
}

interface Lease {
  readonly owner: string
  readonly until: number
}

/** A call that can acquire or extend a lease and has no result. Without an id it is about any entry. */
interface OpenLease extends Lease {
  readonly id: string | undefined
}

/** The lease that a call requests, if it does. */
function requestedLease(method: string, args: readonly unknown[]): OpenLease | undefined {
  if (method !== 'lease' && method !== 'leaseNext' && method !== 'renew') return undefined
  const [first, owner, until] = args as [unknown, string, Date]
  return { id: typeof first === 'string' ? first : undefined, owner, until: until.getTime() }
}

/**
 * The promises about the dead letters of a store that one node uses. The model knows what the store has acknowledged. Work that was
 * not acknowledged may be stored or not, because a process can die before the reply.
 */
export abstract class OwnQueueModel {
  readonly entries = new Map<string, PromisedEntry>()
  /** The leases of calls without a result, by the arguments of the calls: one that has failed can have been carried out. */
  private readonly openLeases = new Map<readonly unknown[], OpenLease>()
  /** The entries that a process has completed by a replay and not reported, and those of them that the last check has found. */
  private readonly unreportedIds = new Set<string>()
  private overdueIds: ReadonlySet<string> = new Set()
  private readonly runs = new Set<HandlerRun>()
  private readonly succeededIds = new Set<string>()
  private readonly completedByHand = new Set<string>()
  acknowledgedCount = 0
  completedCount = 0
  leaseCount = 0
  /** How many promises ended because the disk lied. */
  excusedCount = 0
  /** How often the store reported damage. */
  warningCount = 0

  /** Reads an entry, without the store. */
  protected abstract read(id: string, state: QueueState): DeadLetter | undefined
  /** All entries except for those of the contract. */
  protected abstract readAll(): Iterable<DeadLetter>
  /** Whether a power failure must leave everything that was acknowledged. */
  protected abstract readonly isDurable: boolean

  /** A process calls a method of the queue. The result may never arrive, and after an error the change may be made or not. */
  onCalled(method: string, args: readonly unknown[]): void {
    if (isContractCall(method, args)) return
    const lease = requestedLease(method, args)
    if (lease !== undefined) this.openLeases.set(args, lease)
    if (method === 'settle') this.releaseLease(args[0] as string)
    // The result of a replay that is under way can come second.
    if (method === 'complete') this.completedByHand.add(args[0] as string)
  }

  /** A method of the queue has resolved in a process. */
  onResolved(process: string, method: string, args: readonly unknown[], result: unknown): void {
    if (isContractCall(method, args)) return
    this.openLeases.delete(args)
    switch (method) {
      case 'add':
        for (const added of result as Added[]) if (added.result !== 'full') this.use(added.entry.dlqId)
        return
      case 'lease': {
        const [id, owner, until, now] = args as [string, string, Date, Date]
        if ((result as Leased).result === 'leased') this.onLeased(process, id, owner, until, now)
        return
      }
      case 'leaseNext': {
        const [, owner, until, now] = args as [unknown, string, Date, Date]
        for (const { dlqId } of result as DeadLetter[]) this.onLeased(process, dlqId, owner, until, now)
        return
      }
      case 'renew': {
        const [id, owner, until, now] = args as [string, string, Date, Date]
        if (result === true) this.onRenewed(id, owner, until, now)
        return
      }
      case 'settle': {
        const [id, owner, settlement] = args as [string, string, Settlement]
        if (result !== undefined) this.onSettled(id, owner, settlement)
        else if (settlement.status === 'completed') this.onSettledBefore(id)
        return
      }
      case 'complete':
        if (result !== undefined) this.onCompleted((result as DeadLetter).dlqId)
        return
      case 'purge':
        if (result !== 0)
          throw new Violation('lost', `${result} entries were deleted, and nothing requested that`)
    }
  }

  /** The store acknowledged a dead letter to its caller. */
  onAcknowledged(id: string, payload: unknown): void {
    this.acknowledgedCount++
    this.use(id).payload = { value: deepCopy(payload) }
    this.checkDurable(id)
  }

  onHandlerStarted(id: string, process: string): HandlerRun {
    for (const other of this.runs)
      if (other.id === id)
        throw new Violation('lease', `${process} replays ${id} while it replays it already`)
    const run = { id, process, owner: this.entries.get(id)?.owner }
    this.runs.add(run)
    return run
  }

  onHandlerEnded(run: HandlerRun, failed: boolean): void {
    if (!failed) this.succeededIds.add(run.id)
    this.runs.delete(run)
  }

  /** A process reports that it has completed an entry by a replay. */
  onReplayReported(id: string): void {
    this.unreportedIds.delete(id)
  }

  /** The process of the disk has died, and with it all of its handlers. Its owners of leases have gone as well. */
  onProcessEnded(): void {
    this.runs.clear()
    this.openLeases.clear()
    this.unreportedIds.clear()
  }

  /** A promise has ended, because the disk lied. */
  protected endPromise(id: string): void {
    if (this.entries.delete(id)) this.excusedCount++
  }

  /** Compares the stored entries with everything that was acknowledged. */
  checkAll(): void {
    for (const id of this.entries.keys()) this.check(id, 'current')
  }

  /** Checks that each replay that has completed an entry was reported. Called periodically: a report follows before the next check. */
  checkReported(): void {
    this.requireReports((id) => this.overdueIds.has(id))
    this.overdueIds = new Set(this.unreportedIds)
  }

  /** Checks at rest that all replays were reported. */
  checkAllReported(): void {
    this.requireReports(() => true)
  }

  private requireReports(isOverdue: (id: string) => boolean): void {
    for (const id of this.unreportedIds)
      if (isOverdue(id))
        throw new Violation('completed', `a replay has completed ${id}, and its process has not reported it`)
  }

  /** Checks that every replay that was requested before a time has been made. */
  checkServed(beforeWall: number): void {
    for (const { dlqId, status, replayRequestedAt } of this.readAll())
      if (status !== 'completed' && replayRequestedAt != null && replayRequestedAt.getTime() < beforeWall)
        throw new Violation('hangs', `the replay of ${dlqId} was requested and never made`)
  }

  /** Checks that no entry from before a time is left, after the node has replayed all of them. */
  checkAllCompleted(beforeWall: number): void {
    for (const { dlqId, status, createdAt } of this.readAll())
      if (status !== 'completed' && createdAt.getTime() < beforeWall)
        throw new Violation('hangs', `its node was not able to replay ${dlqId}, which is ${status}`)
  }

  /** Checks what a power failure would leave now. */
  private checkDurable(id: string): void {
    if (this.isDurable) this.check(id, 'durable')
  }

  private check(id: string, state: QueueState): void {
    const { payload, isCompleted } = this.entries.get(id) as PromisedEntry
    if (payload === undefined && !isCompleted) return
    const where = state === 'current' ? 'stored' : 'durable'
    const entry = this.read(id, state)
    if (entry === undefined) throw new Violation('lost', `${id} was acknowledged, and is not ${where}`)
    if (payload !== undefined && !isDeepStrictEqual(entry.originalPayload, payload.value))
      throw new Violation('lost', `${id} was acknowledged with another payload than is ${where}`)
    if (isCompleted && entry.status !== 'completed')
      throw new Violation('completed', `${id} was completed, and its status ${where} is ${entry.status}`)
  }

  private use(id: string): PromisedEntry {
    const known = this.entries.get(id)
    if (known !== undefined) return known
    const entry = {
      payload: undefined,
      isCompleted: false,
      owner: undefined,
      leasedUntil: 0,
      lastLease: undefined,
    }
    this.entries.set(id, entry)
    return entry
  }

  private onLeased(process: string, id: string, owner: string, until: Date, now: Date): void {
    this.leaseCount++
    const entry = this.use(id)
    if (entry.isCompleted) throw new Violation('completed', `${process} leased ${id}, which is completed`)
    if (entry.owner !== undefined && entry.leasedUntil > now.getTime())
      throw new Violation('lease', `${process} leased ${id} while ${entry.owner} holds the lease`)
    entry.owner = owner
    entry.leasedUntil = until.getTime()
    entry.lastLease = { owner, until: until.getTime() }
  }

  private onRenewed(id: string, owner: string, until: Date, now: Date): void {
    const entry = this.use(id)
    if (!this.canHold(id, owner, now))
      throw new Violation('lease', `${owner} renewed the lease of ${id} without holding it`)
    entry.lastLease = { owner, until: until.getTime() }
    // A settlement that was called meanwhile has ended the lease, or will do so.
    if (entry.owner === owner) entry.leasedUntil = until.getTime()
  }

  private onSettled(id: string, owner: string, { status, at }: Settlement): void {
    const entry = this.use(id)
    if (entry.isCompleted)
      throw new Violation('completed', `${owner} settled ${id} as ${status} after it was completed`)
    // A replay that succeeded completes its entry also after the end of its lease (`DeadLetterStore.settle`).
    if (status !== 'completed' && !this.canHold(id, owner, at))
      throw new Violation('lease', `${owner} settled ${id} as ${status} without holding the lease`)
    this.releaseLease(id)
    entry.lastLease = undefined
    if (status !== 'completed') return
    if (!this.succeededIds.has(id))
      throw new Violation('completed', `${id} is completed, and no handler succeeded`)
    this.completedCount++
    this.unreportedIds.add(id)
    this.onCompleted(id)
  }

  /** Whether an owner can hold the lease of an entry at a time, by a call that was acknowledged or by one without a result. */
  private canHold(id: string, owner: string, at: Date): boolean {
    const { lastLease } = this.use(id)
    const possible = [...this.openLeases.values()].filter((open) => open.id === undefined || open.id === id)
    return [...(lastLease === undefined ? [] : [lastLease]), ...possible].some(
      (lease) => lease.owner === owner && lease.until > at.getTime(),
    )
  }

  /** A settlement that failed after its file was written has completed the entry. The store flushes it before it replies to the next one. */
  private onSettledBefore(id: string): void {
    const stored = this.read(id, 'current')
    if (stored?.status !== 'completed' || !this.succeededIds.has(id)) return
    if (!this.use(id).isCompleted && !this.completedByHand.has(id)) this.unreportedIds.add(id)
    this.onCompleted(id)
  }

  private onCompleted(id: string): void {
    this.use(id).isCompleted = true
    this.checkDurable(id)
  }

  private releaseLease(id: string): void {
    const entry = this.use(id)
    entry.owner = undefined
    entry.leasedUntil = 0
  }
}
