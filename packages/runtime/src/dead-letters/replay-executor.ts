import type { RuntimeContext } from '@holdfast/config'
import { type DeadLetter, randomString, summarizeError } from '@holdfast/records'
import { isLeased, leaseStateOf } from '@holdfast/store'
import { isHoldfastError } from 'holdfast'
import { ownErrorOf } from 'holdfast/internal'
import type { Run } from '../api-types.js'
import { toErrorDetails } from './entry.js'
import type { ReplayFunction, RunGuarded } from './handlers.js'
import type { PayloadCipher } from './payload-cipher.js'
import { RunningReplays } from './running-replays.js'
import { createSettlementRecorder, type RecordSettlement } from './settlement-recorder.js'

/** The duration of a lease, and the interval of its renewal. */
const LEASE_MS = 5 * 60_000
const RENEW_INTERVAL_MS = LEASE_MS / 3

/** What a guard rejected with an error; undefined for other errors. */
const rejectedBy = (error: unknown) => (isHoldfastError(error) ? ownErrorOf(error.code)?.[2] : undefined)

/** Whether the operation as a whole is unavailable: its next entry would be rejected too. */
export const isUnavailable = (error: unknown): boolean => rejectedBy(error) === 'operation'

/** Whether the error says nothing about the entry, because its handler was not called. */
const isNotAttempted = (error: unknown): boolean => isUnavailable(error) || rejectedBy(error) === 'call'

/**
 * How a replay ended: with `put_back` the entry is pending again without an attempt, with `late` another process has
 * settled it.
 */
export interface ReplayResult {
  readonly end: 'completed' | 'failed' | 'put_back' | 'late'
  readonly entry: DeadLetter
  readonly error?: unknown
}

/** A replay whose handler has ended and whose result is not recorded yet. */
export interface Replayed {
  /** The error of the handler, or the reason why it was not called. */
  readonly error?: unknown
  /** Records the result and ends the lease. */
  record(): Promise<ReplayResult>
}

interface LeaseRenewal {
  /**
   * The lease is renewed, but not acquired again, which could follow the record of the result. Resolves when an acquisition that
   * has started has ended.
   */
  onHandlerEnded(): Promise<void>
  stop(): void
}

/** Creates a new owner id for each lease, so that two replays of one process do not share a lease. */
export class LeaseOwnerIds {
  private count = 0
  private readonly name: string

  constructor(runtime: RuntimeContext, pid: number) {
    this.name = `${pid}-${randomString(runtime.random, 8)}`
  }

  nextId(): string {
    return `${this.name}-${++this.count}`
  }
}

/** Replays leased entries: it renews the lease while the handler runs, and settles it at the end. */
export class ReplayExecutor {
  /** From the start of a handler until its result is recorded. */
  readonly running = new RunningReplays()
  private readonly runtime: RuntimeContext
  private readonly run: Run
  private readonly payloadCipher: PayloadCipher
  private readonly record: RecordSettlement

  /** @param closeSignal - aborted when the queue closes */
  constructor(runtime: RuntimeContext, run: Run, payloadCipher: PayloadCipher, closeSignal: AbortSignal) {
    this.runtime = runtime
    this.run = run
    this.payloadCipher = payloadCipher
    this.record = createSettlementRecorder(runtime, closeSignal)
  }

  now(): Date {
    return new Date(this.runtime.clock.wall())
  }

  leaseEnd(): Date {
    return new Date(this.runtime.clock.wall() + LEASE_MS)
  }

  /** Replays an entry leased by `owner`, and records the result. */
  async executeAndRecord(
    leased: DeadLetter,
    owner: string,
    replayer: ReplayFunction,
    releaseIfUntried: boolean,
  ): Promise<ReplayResult> {
    return (await this.execute(leased, owner, replayer, releaseIfUntried)).record()
  }

  /**
   * Replays an entry leased by `owner`. The lease is renewed until the result is recorded. With `releaseIfUntried` an entry
   * that could not be attempted is released; otherwise that counts as a failure. An entry that is already being replayed in this
   * process is not replayed: the new lease stays until that replay has ended, so that no other process replays it either.
   */
  async execute(
    leased: DeadLetter,
    owner: string,
    replayer: ReplayFunction,
    releaseIfUntried: boolean,
  ): Promise<Replayed> {
    const { running } = this
    const { dlqId, leasedUntil } = leased
    if (running.has(dlqId)) {
      running.onEnd(dlqId, () => this.releaseUnused(leased, owner))
      return this.notReplayed(leased)
    }
    running.add(dlqId, leasedUntil ?? this.leaseEnd())
    const end = () => running.delete(dlqId)
    try {
      const replayed = await this.executeOnce(leased, owner, replayer, releaseIfUntried)
      return { ...replayed, record: () => replayed.record().finally(end) }
    } catch (error) {
      end()
      throw error
    }
  }

  /** The result of a replay whose handler was not called, because the entry is being replayed elsewhere. */
  private notReplayed(entry: DeadLetter): Replayed {
    return { record: () => this.onLeaseLost(this.payloadCipher.decryptForList(entry)) }
  }

  private async executeOnce(
    input: DeadLetter,
    owner: string,
    replayer: ReplayFunction,
    releaseIfUntried: boolean,
  ): Promise<Replayed> {
    const leased = await this.ensureLease(input, owner)
    if (leased === undefined) return this.notReplayed(input)
    let entry: DeadLetter
    try {
      entry = this.payloadCipher.decryptEntry(leased)
    } catch (error) {
      return { error, record: () => this.releaseEntry(leased, owner, error) }
    }
    const { operationType: operation, itemId, correlationId } = entry
    // Stays undefined where the replay makes its call itself: the session of the error then has the number.
    let retries: number | undefined
    const through: RunGuarded = (fn, more) =>
      this.run(
        operation,
        (attempt) => {
          retries = attempt.number - 1
          return fn(attempt)
        },
        { ...more, itemId, correlationId: correlationId ?? undefined },
      )
    const renewal = this.startRenewing(entry, owner)
    try {
      try {
        await replayer(entry, through)
      } finally {
        await renewal.onHandlerEnded()
      }
    } catch (error) {
      const untried = isHoldfastError(error, 'CANCELLED') || (releaseIfUntried && isNotAttempted(error))
      const record = () =>
        untried ? this.releaseEntry(entry, owner, error) : this.failEntry(entry, owner, error, retries)
      return { error, record: () => record().finally(renewal.stop) }
    }
    return { record: () => this.completeEntry(entry, owner).finally(renewal.stop) }
  }

  /**
   * Returns the entry with a valid lease. If the process was suspended until the lease ended, it is acquired again;
   * undefined where another process was first.
   */
  private async ensureLease(leased: DeadLetter, owner: string): Promise<DeadLetter | undefined> {
    if (isLeased(leaseStateOf(leased), this.runtime.clock.wall())) return leased
    const again = await this.runtime.store.deadLetters.lease(leased.dlqId, owner, this.leaseEnd(), this.now())
    return again.result === 'leased' ? again.entry : undefined
  }

  /** Ends a lease that was not used. */
  private releaseUnused({ dlqId }: DeadLetter, owner: string): void {
    const { logger, store } = this.runtime
    store.deadLetters.settle(dlqId, owner, { status: 'pending', at: this.now() }).catch((error: unknown) =>
      // The entry is available again when the lease ends.
      logger.warn(
        { dlqId, error: summarizeError(error, (text) => this.runtime.redact(text), false) },
        'a lease that was not used could not be released before it ends',
      ),
    )
  }

  /** Ends the lease without a result. */
  private async releaseEntry(entry: DeadLetter, owner: string, error: unknown): Promise<ReplayResult> {
    const settled = await this.record(entry, owner, { status: 'pending', at: this.now() })
    return { end: 'put_back', entry: this.publicView(settled, entry), error }
  }

  private async completeEntry(entry: DeadLetter, owner: string): Promise<ReplayResult> {
    const settled = await this.record(entry, owner, { status: 'completed', at: this.now() })
    if (settled === undefined) return this.onLeaseLost(entry)
    this.emitResult('dead_letter_replayed', settled)
    return { end: 'completed', entry: this.publicView(settled, entry) }
  }

  private async failEntry(
    entry: DeadLetter,
    owner: string,
    error: unknown,
    retries: number | undefined,
  ): Promise<ReplayResult> {
    const at = this.now()
    const settled = await this.record(entry, owner, {
      status: 'failed',
      at,
      error: { ...toErrorDetails(error, this.runtime, retries), at },
    })
    if (settled === undefined) return { ...(await this.onLeaseLost(entry)), error }
    this.emitResult('dead_letter_failed', settled, error)
    return { end: 'failed', entry: this.publicView(settled, entry), error }
  }

  /** Another process acquired the entry after this lease had ended. */
  private async onLeaseLost(entry: DeadLetter): Promise<ReplayResult> {
    const current = await this.runtime.store.deadLetters.get(entry.dlqId, this.now())
    return { end: 'late', entry: this.publicView(current, entry) }
  }

  /** The stored entry with decrypted payloads. They can have been edited after the lease had ended. */
  private publicView(settled: DeadLetter | undefined, entry: DeadLetter): DeadLetter {
    return settled === undefined ? entry : this.payloadCipher.decryptForList(settled)
  }

  private emitResult(
    eventType: 'dead_letter_replayed' | 'dead_letter_failed',
    entry: DeadLetter,
    error?: unknown,
  ): void {
    const { runtime } = this
    runtime.emit({
      eventType,
      component: 'dead_letters',
      operation: entry.operationType,
      policyId: entry.policyId,
      ...(entry.correlationId != null && { correlationId: entry.correlationId }),
      ...(error !== undefined && {
        error: summarizeError(error, (text) => runtime.redact(text), runtime.isDebug()),
      }),
      context: { dlq_id: entry.dlqId, item_id: entry.itemId },
    })
  }

  /**
   * Renews a lease until it is stopped or lost. A lease that has ended, because the clock was set forward or the store did not
   * respond, is acquired again while the handler runs, unless another process has the entry.
   */
  private startRenewing({ dlqId, operationType }: DeadLetter, owner: string): LeaseRenewal {
    const { clock, logger, store } = this.runtime
    let isStopped = false
    let isHandlerRunning = true
    let acquiring: Promise<unknown> = Promise.resolve()
    const renewOrAcquire = async (): Promise<boolean> => {
      const leaseEnd = this.leaseEnd()
      this.running.add(dlqId, leaseEnd)
      if (await store.deadLetters.renew(dlqId, owner, leaseEnd, this.now())) return true
      if (!isHandlerRunning) return false
      const acquired = store.deadLetters.lease(dlqId, owner, leaseEnd, this.now())
      acquiring = acquired.catch(() => {})
      return (await acquired).result === 'leased'
    }
    const renew = async () => {
      try {
        const isHeld = await renewOrAcquire()
        if (isStopped) return
        if (isHeld) timer = scheduleRenewal()
        else logger.warn({ dlqId, operation: operationType }, 'a lease was lost while its handler runs')
      } catch (error) {
        logger.warn(
          { dlqId, error: summarizeError(error, (text) => this.runtime.redact(text), false) },
          'a lease could not be renewed',
        )
        if (!isStopped) timer = scheduleRenewal()
      }
    }
    const scheduleRenewal = () => clock.setTimer(() => void renew(), RENEW_INTERVAL_MS)
    let timer = scheduleRenewal()
    return {
      async onHandlerEnded() {
        isHandlerRunning = false
        await acquiring
      },
      stop() {
        isStopped = true
        clock.clearTimer(timer)
      },
    }
  }
}
