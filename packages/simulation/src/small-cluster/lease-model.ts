import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterStore, Settlement } from '@holdfast/store'
import type { Leased } from '../../../store/src/dead-letter-store.js'
import { Violation } from '../engine/violation.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import { ResultModel } from './result-model.js'
import type { StoreCall } from './store-port.js'

/** The duration of a lease and the interval of its renewal (docs/dead-letters.md), and a margin for slow calls. */
const LEASE_MS = 300_000
const RENEW_INTERVAL_MS = LEASE_MS / 3
const MARGIN_MS = 10_000

/** How long a lease may wait for a handler, with a margin for slow calls and repeated settlements. */
const MAX_UNUSED_MS = 2000 + MARGIN_MS

/** How long the result of a handler may wait until it is stored: several failed settlements. */
const MAX_SETTLING_MS = 20_000

/** Who acquired a lease: a worker that serves requests, a batch, or the replay of one entry. */
export type LeaseKind = 'worker' | 'batch' | 'one'

/** A lease as the store has it. */
export interface StoredLease {
  readonly id: string
  readonly process: string
  readonly owner: string
  readonly kind: LeaseKind
  readonly operation: string
  /** When it was acquired, or when its last handler ended. */
  idleSince: number
  until: number
  /** Renewals that failed since the last one that was executed. */
  failedRenewals: number
  /** The process does not know that it has the lease, or could not release it: it stays until it ends. */
  isAbandoned: boolean
}

/** A handler that runs. */
export interface LeasedRun {
  readonly lease: StoredLease
}

/** How a handler ended. */
export type HandlerEnd = 'succeeded' | 'failed' | 'aborted'

type LeaseNextWant = Parameters<DeadLetterStore['leaseNext']>[0]

const virtual = (date: Date): number => date.getTime() - START_WALL_MS

const keyOf = (id: string, owner: string): string => `${id} ${owner}`

/**
 * The promises about leases, with the state of the store as the truth: a handler runs only while its process holds the lease, which is
 * renewed in time; a lease that is not used is released; a result is stored once, and the work of a handler that succeeded is not
 * repeated.
 */
export class LeaseModel {
  readonly leases = new Map<string, StoredLease>()
  readonly runs = new Map<string, LeasedRun>()
  /** How many handlers the worker of each process runs, also of entries that were completed by other means. */
  readonly workerRuns = new Map<string, number>()
  readonly results: ResultModel
  private readonly now: () => number
  private readonly isAlive: (process: string) => boolean
  private readonly outcomes = new Map<string, HandlerEnd>()
  /** Settlements whose result the process knows, and those that have failed at least once. */
  private readonly answeredSettlements = new Set<string>()
  private readonly failedSettlements = new Set<string>()
  private readonly failedAtClose = new Set<string>()
  private readonly heldUntil = new Map<string, number>()
  /** Entries whose handler succeeded, and when, until the result is stored. */
  private readonly unsettled = new Map<string, { readonly process: string; readonly at: number }>()
  private readonly succeededIds = new Set<string>()
  private readonly closing = new Set<string>()
  /** The handlers that run, also of entries that were completed by other means, and since when other replays have none. */
  private readonly handlers = new Set<string>()
  private readonly withoutHandlerSince = new Map<string, number>()

  constructor(now: () => number, isAlive: (process: string) => boolean) {
    this.now = now
    this.isAlive = isAlive
    this.results = new ResultModel(now)
  }

  onCalled({ process, method, args }: StoreCall): void {
    if (method !== 'deadLetters.settle' && method !== 'deadLetters.renew') return
    const [id, owner, { status }] = args as [string, string, Settlement]
    const key = keyOf(id, owner)
    if (method === 'deadLetters.renew') {
      if (this.answeredSettlements.has(key))
        throw new Violation('lease', `${process} renews the lease of ${id} after it has settled it`)
      return
    }
    if (this.failedAtClose.has(key))
      throw new Violation('lease', `${process} repeats the settlement of ${id} while it closes`)
    if (this.answeredSettlements.has(key))
      throw new Violation('lease', `${process} settled ${id} again as ${status} after the store had replied`)
    const end = this.outcomes.get(key)
    const expected = end === 'succeeded' ? 'completed' : end === 'failed' ? 'failed' : 'pending'
    // Without an outcome the guard has rejected the call, which is a failure for a replay of one entry.
    if (status !== expected && !(end === undefined && status === 'failed'))
      throw new Violation(
        'completed',
        `${process} settled ${id} as ${status}, expected ${expected} after ${end}`,
      )
  }

  onExecuted({ process, method, args }: StoreCall, result: unknown): void {
    switch (method) {
      case 'deadLetters.lease': {
        const [, owner, until] = args as [string, string, Date]
        const leased = result as Leased
        if (leased.result === 'leased') this.onLeased(process, leased.entry, owner, until, 'one')
        return
      }
      case 'deadLetters.leaseNext': {
        const [want, owner, until] = args as [LeaseNextWant, string, Date]
        const kind = want.requested ? 'worker' : 'batch'
        for (const entry of result as DeadLetter[]) this.onLeased(process, entry, owner, until, kind)
        return
      }
      case 'deadLetters.renew': {
        const [id, owner, until] = args as [string, string, Date]
        const lease = this.leases.get(id)
        if (result !== true || lease?.owner !== owner) return
        lease.until = virtual(until)
        lease.failedRenewals = 0
        return
      }
      case 'deadLetters.settle': {
        const [id, owner, { status }] = args as [string, string, Settlement]
        if (result !== undefined) this.onSettled(process, id, owner, status)
        return
      }
      case 'deadLetters.complete':
        if (result === undefined) return
        this.leases.delete(args[0] as string)
        this.heldUntil.set(args[0] as string, this.now())
        this.runs.delete(args[0] as string)
        this.unsettled.delete(args[0] as string)
    }
  }

  onReplied({ process, method, args }: StoreCall, hasFailed: boolean, result: unknown): void {
    const [first, owner] = args as [unknown, string]
    switch (method) {
      case 'deadLetters.settle':
        return this.onSettleReplied(process, args as [string, string, Settlement], hasFailed, result)
      case 'deadLetters.renew': {
        if (hasFailed) this.countFailedRenewal(first as string, owner)
        return
      }
      case 'deadLetters.lease': {
        if (!hasFailed) return
        this.countFailedRenewal(first as string, owner)
        // While its handler runs, the process still renews the lease, and settles it at the end.
        if (this.runs.get(first as string)?.lease.owner !== owner) this.abandon(first as string, owner)
        return
      }
      case 'deadLetters.leaseNext':
        if (hasFailed) for (const { dlqId } of (result ?? []) as DeadLetter[]) this.abandon(dlqId, owner)
    }
  }

  /** The store will not store a result. The entry is available again when its lease has ended. */
  onRejected({ method, args }: StoreCall): void {
    const [id, owner] = args as [string, string]
    if (method !== 'deadLetters.settle') return
    this.abandon(id, owner)
    this.unsettled.delete(id)
    this.succeededIds.delete(id)
  }

  /** Checks that the replays that a process regards as running have a handler, or that their result is being stored. */
  checkRunning(process: string, ids: ReadonlySet<string>): void {
    for (const id of this.withoutHandlerSince.keys())
      if (id.startsWith(`${process} `) && !ids.has(id.slice(process.length + 1)))
        this.withoutHandlerSince.delete(id)
    for (const id of ids) {
      const key = `${process} ${id}`
      if (this.handlers.has(key)) {
        this.withoutHandlerSince.delete(key)
        continue
      }
      const since = this.withoutHandlerSince.get(key) ?? this.now()
      this.withoutHandlerSince.set(key, since)
      const ms = this.now() - since
      if (ms > MAX_SETTLING_MS)
        throw new Violation(
          'lease',
          `${process} regards ${id} as being replayed, and no handler of it has run for ${ms} ms`,
        )
    }
  }

  /** Whether a process holds the lease of an entry. */
  isHeld(id: string): boolean {
    return (this.leases.get(id)?.until ?? 0) > this.now()
  }

  /** Whether a process has held the lease of an entry at some time since then. */
  wasHeld(id: string, since: number): boolean {
    return this.isHeld(id) || (this.heldUntil.get(id) ?? Number.NEGATIVE_INFINITY) >= since
  }

  /** A handler starts. */
  onHandlerStarted(process: string, id: string): LeasedRun {
    const lease = this.leases.get(id)
    if (lease === undefined || lease.process !== process || lease.until <= this.now())
      throw new Violation(
        'lease',
        `${process} replays ${id} without a lease: ${lease === undefined ? 'no process holds one' : `${lease.process} holds it until ${lease.until}`}`,
      )
    if (this.runs.has(id)) throw new Violation('lease', `${process} replays ${id} while a handler of it runs`)
    if (this.succeededIds.has(id))
      throw new Violation('completed', `${process} replays ${id} again after its handler succeeded`)
    const run = { lease }
    this.runs.set(id, run)
    this.handlers.add(`${process} ${id}`)
    this.countRun(lease, 1)
    return run
  }

  onHandlerEnded({ lease }: LeasedRun, end: HandlerEnd): void {
    const { id, owner, process } = lease
    this.outcomes.set(keyOf(id, owner), end)
    this.handlers.delete(`${process} ${id}`)
    this.countRun(lease, -1)
    lease.idleSince = this.now()
    if (end === 'succeeded') {
      this.succeededIds.add(id)
      if (this.runs.has(id)) this.unsettled.set(id, { process, at: this.now() })
    }
    this.runs.delete(id)
  }

  /** A process begins to close: it stores each result only once from now on. */
  onClosing(process: string): void {
    this.closing.add(process)
  }

  /** A process has died or is closed. Results that it has not stored are lost, and their handlers run again. */
  onEnded(process: string): void {
    for (const [id, run] of this.runs) if (run.lease.process === process) this.runs.delete(id)
    for (const [id, unsettled] of this.unsettled)
      if (unsettled.process === process) {
        this.unsettled.delete(id)
        this.succeededIds.delete(id)
      }
  }

  /** A closed process has no lease, unless it could not release it. */
  checkReleased(process: string, isMeant: (lease: StoredLease) => boolean = () => true): void {
    for (const lease of this.leases.values())
      if (lease.process === process && !lease.isAbandoned && lease.until > this.now() && isMeant(lease))
        throw new Violation('lease', `${process} still holds the lease of ${lease.id} (${lease.kind})`)
  }

  /** Checks the leases of running handlers, leases that are not used, and results that are not stored. */
  check(): void {
    const now = this.now()
    for (const { lease } of this.runs.values()) {
      const { id, process, until, failedRenewals } = lease
      if (this.leases.get(id) !== lease)
        throw new Violation(
          'lease',
          `${process} runs the handler of ${id}, and does not hold its lease any more`,
        )
      const left = LEASE_MS - (1 + failedRenewals) * RENEW_INTERVAL_MS - MARGIN_MS
      if (until - now < left)
        throw new Violation(
          'lease',
          `${process} renews the lease of ${id} too late: ${until - now} ms are left, expected ${left} ms`,
        )
    }
    for (const lease of this.leases.values()) {
      const { id, process, idleSince, isAbandoned, until } = lease
      const idleMs = now - idleSince
      // Most leases are not idle for long, so that is checked first.
      if (idleMs <= MAX_UNUSED_MS || isAbandoned || until <= now) continue
      if (this.runs.has(id) || !this.isAlive(process)) continue
      const hasEnded = this.outcomes.has(keyOf(id, lease.owner))
      if (!hasEnded || idleMs > MAX_SETTLING_MS)
        throw new Violation('lease', `${process} holds the lease of ${id} for ${idleMs} ms without a handler`)
    }
    for (const [id, { process, at }] of this.unsettled)
      if (now - at > MAX_SETTLING_MS && !this.closing.has(process))
        throw new Violation('completed', `${process} has not stored the success of ${id} in ${now - at} ms`)
  }

  private countRun({ process, kind }: StoredLease, change: number): void {
    if (kind === 'worker') this.workerRuns.set(process, (this.workerRuns.get(process) ?? 0) + change)
  }

  private onSettleReplied(
    process: string,
    [id, owner, { status }]: [string, string, Settlement],
    hasFailed: boolean,
    result: unknown,
  ): void {
    const key = keyOf(id, owner)
    // After a lost reply, the process must find out whether its own settlement or another one ended the lease.
    if (!hasFailed && (result !== undefined || !this.failedSettlements.has(key)))
      this.answeredSettlements.add(key)
    if (!hasFailed) return
    this.failedSettlements.add(key)
    if (this.closing.has(process)) this.failedAtClose.add(key)
    if (status === 'pending') this.abandon(id, owner)
  }

  private countFailedRenewal(id: string, owner: string): void {
    const lease = this.leases.get(id)
    if (lease?.owner === owner) lease.failedRenewals++
  }

  private abandon(id: string, owner: string): void {
    const lease = this.leases.get(id)
    if (lease?.owner === owner) lease.isAbandoned = true
  }

  private onLeased(process: string, entry: DeadLetter, owner: string, until: Date, kind: LeaseKind): void {
    const { dlqId: id, operationType: operation } = entry
    const known = this.leases.get(id)
    if (known !== undefined && known.until > this.now())
      throw new Violation('lease', `${process} leased ${id} while ${known.process} holds its lease`)
    if (known?.owner === owner) {
      // The process has acquired a lease again that had ended while its handler runs.
      Object.assign(known, { until: virtual(until), failedRenewals: 0, isAbandoned: false })
      return
    }
    this.leases.set(id, {
      id,
      process,
      owner,
      kind,
      operation,
      idleSince: this.now(),
      until: virtual(until),
      failedRenewals: 0,
      isAbandoned: false,
    })
  }

  private onSettled(process: string, id: string, owner: string, status: Settlement['status']): void {
    if (status !== 'completed' && this.leases.get(id)?.owner !== owner)
      throw new Violation('lease', `${process} settled ${id} as ${status} without holding the lease`)
    this.leases.delete(id)
    this.heldUntil.set(id, this.now())
    this.unsettled.delete(id)
    if (status !== 'pending') this.results.onStored(process, id, status)
  }
}
