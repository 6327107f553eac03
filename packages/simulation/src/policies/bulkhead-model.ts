import { Violation } from '../engine/violation.js'
import type { ContractPolicy } from './contract-policies.js'

/** A call that uses a bulkhead. */
export interface BulkheadUser {
  readonly name: string
  readonly submittedAt: number
  /** Whether the call has ended and none of its functions runs. */
  readonly isDone: boolean
  /** The same, or the call must or can end in the current event: a slot is passed on before the end is reported. */
  readonly canBeDone: boolean
}

/**
 * A bulkhead as two lists: the calls that hold a slot, and those that wait, oldest first. A call holds its slot until it has ended and its
 * functions have settled.
 */
export class BulkheadModel {
  private readonly name: string
  private readonly settings: NonNullable<ContractPolicy['bulkhead']>
  private holders: BulkheadUser[] = []
  private waiting: BulkheadUser[] = []
  /** The calls that must be rejected, because the queue was full when they began. */
  private readonly rejected = new Set<BulkheadUser>()

  constructor(name: string, settings: NonNullable<ContractPolicy['bulkhead']>) {
    this.name = name
    this.settings = settings
  }

  get isEmpty(): boolean {
    this.removeDone()
    return this.holders.length === 0 && this.waiting.length === 0
  }

  /** A call begins. Its function is called at once, or it waits, or it is rejected. */
  onSubmitted(user: BulkheadUser): void {
    this.removeDone()
    const { limit, queue } = this.settings
    if (this.holders.length >= limit && this.waiting.length >= queue) this.rejected.add(user)
    else this.waiting.push(user)
  }

  /** The first attempt of a call starts. */
  onStarted(user: BulkheadUser): void {
    const first = this.waiting.find((each) => !each.canBeDone)
    const holderCount = this.holders.filter(({ canBeDone }) => !canBeDone).length
    if (this.rejected.has(user)) this.fail(`gave ${user.name} a slot, and its queue was full`)
    if (first !== user) this.fail(`gave ${user.name} a slot before ${first?.name ?? 'it waited'}`)
    if (holderCount >= this.settings.limit)
      this.fail(`gave ${user.name} a slot, and ${holderCount} calls have one`)
    this.waiting = this.waiting.filter((each) => each !== user)
    this.holders.push(user)
  }

  /** A call is rejected because it got no slot. */
  onRejected(user: BulkheadUser, now: number, toleranceMs: number): void {
    if (this.rejected.delete(user)) {
      if (now - user.submittedAt > toleranceMs)
        this.fail(`rejected ${user.name} after ${now - user.submittedAt} ms, expected at once`)
      return
    }
    if (!this.waiting.includes(user)) this.fail(`rejected ${user.name}, which does not wait`)
    const waitedMs = now - user.submittedAt
    if (Math.abs(waitedMs - this.settings.maxWait) > toleranceMs)
      this.fail(`rejected ${user.name} after ${waitedMs} ms, expected ${this.settings.maxWait} ms`)
    this.waiting = this.waiting.filter((each) => each !== user)
  }

  /** Checks that no call waits while a slot is free. Called when all promises have settled. */
  checkSlots(): void {
    this.removeDone()
    const [first] = this.waiting
    if (this.holders.length > this.settings.limit) this.fail(`has given ${this.holders.length} calls a slot`)
    if (first !== undefined && this.holders.length < this.settings.limit)
      this.fail(`has a free slot, and ${first.name} waits: ${this.holders.length} calls have a slot`)
  }

  private removeDone(): void {
    this.holders = this.holders.filter(({ isDone }) => !isDone)
    this.waiting = this.waiting.filter(({ isDone }) => !isDone)
  }

  private fail(problem: string): never {
    throw new Violation('policies', `the bulkhead of ${this.name} ${problem}`)
  }
}
