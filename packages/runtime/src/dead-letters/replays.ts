import { guard, type HoldfastErrorCode, isHoldfastError } from 'holdfast'
import type { Run } from '../face.js'
import { chance } from '../ids.js'
import type { Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import { summarize } from '../records/summary.js'
import { isHeld, settledTo, standingOf } from '../store/dead-letter-rules.js'
import type { Settlement } from '../store/store.js'
import { detailsOf } from './entry.js'
import type { Replayer, Through } from './handlers.js'
import type { Vault } from './vault.js'

/** How long (ms) a lease is, and how often it is renewed. */
const LEASE = 5 * 60_000
const RENEW = LEASE / 3

/** Refusals: nothing was tried, and the next entry of the operation would fare the same. */
const CLOSED_DOORS: readonly HoldfastErrorCode[] = ['CIRCUIT_OPEN', 'POOL_UNAVAILABLE', 'NETWORK_DOWN']
/** Other endings that say nothing about the entry. */
const UNTRIED: readonly HoldfastErrorCode[] = [...CLOSED_DOORS, 'BULKHEAD_FULL']

const isOneOf = (error: unknown, codes: readonly HoldfastErrorCode[]) =>
  codes.some((code) => isHoldfastError(error, code))

/** Whether the operation as a whole cannot be had now. */
export const isClosedDoor = (error: unknown): boolean => isOneOf(error, CLOSED_DOORS)

/** How a replay ended: `put_back` is pending again and untried, `late` was settled by somebody else. */
export interface Served {
  readonly end: 'completed' | 'failed' | 'put_back' | 'late'
  readonly entry: DeadLetter
  readonly error?: unknown
}

/** A replay whose handler has ended, and whose result is not recorded yet. */
export interface Replayed {
  /** What the handler threw, or why it was not called. */
  readonly error?: unknown
  /** Ends the lease with the result. */
  record(): Promise<Served>
}

/** Whoever takes a lease, each time another: two replays of one process are strangers to each other. */
export class Owners {
  private count = 0
  private readonly name: string

  constructor(kit: Kit) {
    this.name = `${process.pid}-${chance(kit.random, 8)}`
  }

  next(): string {
    return `${this.name}-${++this.count}`
  }
}

/** Whether an entry has the result that it was to have. */
const isResult = (entry: DeadLetter, expected: DeadLetter): boolean =>
  entry.status === expected.status &&
  entry.lastAttempt.getTime() === expected.lastAttempt.getTime() &&
  entry.replayedAt?.getTime() === expected.replayedAt?.getTime() &&
  entry.errorDetails.history?.length === expected.errorDetails.history?.length

/** Serves leased entries: renews the lease while the handler runs, and settles it at the end. */
export class Replays {
  private readonly kit: Kit
  private readonly run: Run
  private readonly vault: Vault
  private readonly settling

  constructor(kit: Kit, run: Run, vault: Vault) {
    this.kit = kit
    this.run = run
    this.vault = vault
    // The work is done by then: a moment's trouble with the store must not have it done again.
    this.settling = guard({ clock: kit.clock, random: kit.random, retry: { maxAttempts: 3, baseDelay: 100 } })
  }

  now(): Date {
    return new Date(this.kit.clock.wall())
  }

  leaseEnd(): Date {
    return new Date(this.kit.clock.wall() + LEASE)
  }

  /** Replays an entry that `owner` holds, and records the result. */
  async serve(leased: DeadLetter, owner: string, replayer: Replayer, patient: boolean): Promise<Served> {
    return (await this.execute(leased, owner, replayer, patient)).record()
  }

  /**
   * Replays an entry that `owner` holds. Its lease is renewed until the result is recorded. `patient` puts it back where
   * nothing could be tried; otherwise that is a failure like others.
   */
  async execute(given: DeadLetter, owner: string, replayer: Replayer, patient: boolean): Promise<Replayed> {
    const leased = await this.ensureLease(given, owner)
    if (leased === undefined) return { record: () => this.late(given) }
    let entry: DeadLetter
    try {
      entry = this.vault.open(leased)
    } catch (error) {
      return { error, record: () => this.putBack(leased, owner, error) }
    }
    const { operationType: operation, itemId, correlationId } = entry
    let retries = 0
    const through: Through = (fn, more) =>
      this.run(
        operation,
        (attempt) => {
          retries = attempt.number - 1
          return fn(attempt)
        },
        { ...more, itemId, correlationId: correlationId ?? undefined },
      )
    const stop = this.renewing(entry, owner)
    try {
      await replayer(entry, through)
    } catch (error) {
      const untried = isHoldfastError(error, 'CANCELLED') || (patient && isOneOf(error, UNTRIED))
      const record = () =>
        untried ? this.putBack(entry, owner, error) : this.failed(entry, owner, error, retries)
      return { error, record: () => record().finally(stop) }
    }
    return { record: () => this.completed(entry, owner).finally(stop) }
  }

  /**
   * The entry with a lease that lasts. Where the process was stopped for so long that its lease has ended, it is taken again;
   * undefined where somebody else was first.
   */
  private async ensureLease(leased: DeadLetter, owner: string): Promise<DeadLetter | undefined> {
    if (isHeld(standingOf(leased), this.kit.clock.wall())) return leased
    const again = await this.kit.store.deadLetters.lease(leased.dlqId, owner, this.leaseEnd(), this.now())
    return again.result === 'leased' ? again.entry : undefined
  }

  /** Ends the lease as if nothing had been. */
  private async putBack(entry: DeadLetter, owner: string, error: unknown): Promise<Served> {
    const settled = await this.settle(entry, owner, { status: 'pending', at: this.now() })
    return { end: 'put_back', entry: this.shown(settled, entry), error }
  }

  private async completed(entry: DeadLetter, owner: string): Promise<Served> {
    const settled = await this.settle(entry, owner, { status: 'completed', at: this.now() })
    if (settled === undefined) return this.late(entry)
    this.tell('dead_letter_replayed', settled)
    return { end: 'completed', entry: this.shown(settled, entry) }
  }

  private async failed(entry: DeadLetter, owner: string, error: unknown, retries: number): Promise<Served> {
    const at = this.now()
    const settled = await this.settle(entry, owner, {
      status: 'failed',
      at,
      error: { ...detailsOf(error, this.kit, retries), at },
    })
    if (settled === undefined) return { ...(await this.late(entry)), error }
    this.tell('dead_letter_failed', settled, error)
    return { end: 'failed', entry: this.shown(settled, entry), error }
  }

  /** Somebody else took the entry over when this lease had ended. */
  private async late(entry: DeadLetter): Promise<Served> {
    const current = await this.kit.store.deadLetters.get(entry.dlqId, this.now())
    return { end: 'late', entry: this.shown(current, entry) }
  }

  /** What the store says of the entry, with the payload that was opened before. */
  private shown(settled: DeadLetter | undefined, entry: DeadLetter): DeadLetter {
    return { ...(settled ?? entry), originalPayload: entry.originalPayload }
  }

  private settle(entry: DeadLetter, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    const { deadLetters } = this.kit.store
    return this.settling.run(async ({ number }) => {
      const settled = await deadLetters.settle(entry.dlqId, owner, settlement)
      if (settled !== undefined || number === 1) return settled
      // An attempt before may have been committed, and its answer lost.
      const current = await deadLetters.get(entry.dlqId, settlement.at)
      return current !== undefined && isResult(current, settledTo(entry, settlement)) ? current : undefined
    })
  }

  private tell(
    eventType: 'dead_letter_replayed' | 'dead_letter_failed',
    entry: DeadLetter,
    error?: unknown,
  ): void {
    const { kit } = this
    kit.emit({
      eventType,
      component: 'dead_letters',
      operation: entry.operationType,
      policyId: entry.policyId,
      ...(entry.correlationId != null && { correlationId: entry.correlationId }),
      ...(error !== undefined && { error: summarize(error, (said) => kit.redact(said), kit.debug()) }),
      context: { dlq_id: entry.dlqId, item_id: entry.itemId },
    })
  }

  /** Renews a lease until it is told to stop, or until it is lost. */
  private renewing({ dlqId, operationType }: DeadLetter, owner: string): () => void {
    const { clock, logger, store } = this.kit
    let stopped = false
    const again = () => clock.setTimer(() => void renew(), RENEW)
    const renew = async () => {
      try {
        const held = await store.deadLetters.renew(dlqId, owner, this.leaseEnd(), this.now())
        if (stopped) return
        if (held) timer = again()
        else logger.warn({ dlqId, operation: operationType }, 'a lease was lost while its handler runs')
      } catch (error) {
        logger.warn(
          { dlqId, error: summarize(error, (said) => this.kit.redact(said), false) },
          'a lease could not be renewed',
        )
        if (!stopped) timer = again()
      }
    }
    let timer = again()
    return () => {
      stopped = true
      clock.clearTimer(timer)
    }
  }
}
