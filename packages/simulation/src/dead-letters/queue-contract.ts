import { isDeepStrictEqual } from 'node:util'
import { type DeadLetter, SCHEMA } from '@holdfast/records'
import type { DeadLetterStore } from '@holdfast/store'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'

/** The operation of the entries. It has no handler, so no worker leases them. */
const CONTRACT_OPERATION = 'contract'

/** All ids of such entries begin with this. */
const ID_PREFIX = 'contract-'

export const isContractId = (id: string): boolean => id.startsWith(ID_PREFIX)

/** Whether a call of a queue is about such entries. */
export function isContractCall(method: string, args: readonly unknown[]): boolean {
  const [first] = args
  if (typeof first === 'string') return isContractId(first)
  if (method === 'add') return (first as readonly DeadLetter[]).some(({ dlqId }) => isContractId(dlqId))
  const { ids, operations } = Object(first) as { ids?: readonly string[]; operations?: readonly string[] }
  return ids?.some(isContractId) === true || operations?.includes(CONTRACT_OPERATION) === true
}

/** How many entries there are at a time. */
const MAX_ENTRIES = 5

/** How long a lease is. */
const LEASE_MS = 10_000

/** How many steps are left out at most while one is under way: its calls can take as long as the store needs to fail. */
const MAX_SKIPPED_STEPS = 30

/** An entry, as the documentation of the interface describes it. */
interface Expected {
  readonly id: string
  readonly key: string
  readonly payload: unknown
  readonly createdAt: number
  editedPayload: unknown
  /** The status without regard to the lease. */
  status: 'pending' | 'failed' | 'completed'
  /** Whether the entry was leased and the lease was not settled; the lease can have expired. */
  isReplaying: boolean
  owner: string
  leasedUntil: number
  requestedAt: number | null
  lastAttempt: number
  failures: number
}

/**
 * A naive client of a queue: it makes one change after another of entries that only it uses, with right and wrong owners and at times
 * around the end of a lease, and compares each result with what the interface promises.
 */
export class QueueContract {
  private readonly name: string
  private readonly choices: Choices
  private readonly keepsOwners: boolean
  private readonly entries = new Map<string, Expected>()
  /** The ids that were completed. They stay processed after a purge. */
  private readonly processed = new Set<string>()
  /** The ids of entries whose state is not known, because a call failed or its process died. */
  private readonly uncertain = new Set<string>()
  private isBusy = false
  /** Whether the current call may have been carried out twice, so that its result is not certain. */
  private isRepeated = false
  private skippedCount = 0
  private idCount = 0
  private ownerCount = 0
  stepCount = 0

  /** @param keepsOwners - whether the store remembers the holders of leases when a process ends */
  constructor(name: string, choices: Choices, keepsOwners: boolean) {
    this.name = name
    this.choices = choices
    this.keepsOwners = keepsOwners
  }

  /** The result of a call is not known, so the state of the entries is not known either. */
  private doubtAll(): void {
    for (const id of this.entries.keys()) this.uncertain.add(id)
    this.entries.clear()
  }

  /** A disk has lied, so nothing is known. */
  forgetAll(): void {
    this.entries.clear()
    this.processed.clear()
    this.uncertain.clear()
  }

  /**
   * The process has died. The result of a call that was on its way is not known, nor is anything after a lie of the disk. A store in
   * files keeps the holders of leases in memory.
   */
  onProcessEnded(hasDiskLied: boolean): void {
    const hasLease = [...this.entries.values()].some(({ isReplaying }) => isReplaying)
    if (hasDiskLied) this.forgetAll()
    else if (this.isBusy || (hasLease && !this.keepsOwners)) this.doubtAll()
    this.isBusy = this.isRepeated = false
  }

  /** The store may have carried out the current call twice. */
  onCallRepeated(): void {
    this.isRepeated = this.isBusy
  }

  /** Makes one call, unless the last one has not ended. `wall` is the time; `isCurrent` is false if the process has died since. */
  async step(
    queue: DeadLetterStore,
    wall: number,
    check: (fn: () => void) => void,
    isCurrent: () => boolean = () => true,
  ): Promise<void> {
    if (this.isBusy) return check(() => this.checkEnds())
    this.isBusy = true
    this.skippedCount = 0
    try {
      await this.call(queue, wall, (fn) => {
        if (isCurrent() && !this.isRepeated) check(fn)
      })
      if (this.isRepeated && isCurrent()) this.doubtAll()
      this.stepCount++
    } catch {
      if (isCurrent()) this.doubtAll()
    } finally {
      if (isCurrent()) this.isBusy = this.isRepeated = false
    }
  }

  private checkEnds(): void {
    if (++this.skippedCount > MAX_SKIPPED_STEPS)
      throw new Violation(
        'hangs',
        `a call of the queue of ${this.name} has not ended in ${this.skippedCount} steps`,
      )
  }

  private async call(queue: DeadLetterStore, wall: number, check: (fn: () => void) => void): Promise<void> {
    const { choices } = this
    for (const id of this.uncertain) return this.checkConsistent(queue, id, new Date(Math.floor(wall)), check)
    if (this.entries.size === 0 || (this.entries.size < MAX_ENTRIES && choices.chance(0.15)))
      return this.add(queue, wall, check)
    const entry = choices.pick([...this.entries.values()])
    const { id } = entry
    const now = this.pickTime(entry, wall)
    const isHeld = entry.isReplaying && entry.leasedUntil > now
    const owner = entry.owner !== '' && choices.chance(0.6) ? entry.owner : `owner-${this.name}-x`
    const isHolder = isHeld && owner === entry.owner
    const isCompleted = entry.status === 'completed'
    const at = new Date(now)
    const until = new Date(now + LEASE_MS)
    const expect = (method: string, got: unknown, wanted: unknown, invariant: string) =>
      check(() => {
        if (!isDeepStrictEqual(got, wanted))
          throw new Violation(
            invariant,
            `${method} of ${id} in the store of ${this.name} returned ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`,
          )
      })
    switch (choices.below(13)) {
      case 0:
      case 1: {
        const leased = await queue.lease(id, this.nextOwner(), until, at)
        const wanted = isCompleted ? 'done' : isHeld ? 'held' : 'leased'
        expect('lease', leased.result, wanted, 'lease')
        if (leased.result === 'held') expect('lease', leased.until.getTime(), entry.leasedUntil, 'lease')
        if (wanted === 'leased') this.onLeased(entry, until)
        return this.compare(queue, entry, now, check)
      }
      case 2: {
        const statuses = choices.pick([['pending'], ['failed'], ['pending', 'failed']] as const)
        const requested = choices.chance(0.3) || undefined
        const selector = choices.chance(0.3) ? { ids: [id] } : { itemId: `item-${id}` }
        const leased = await queue.leaseNext(
          { ...selector, operations: [CONTRACT_OPERATION], statuses, requested, limit: 1 },
          this.nextOwner(),
          until,
          at,
        )
        const status = entry.isReplaying && !isHeld ? 'pending' : entry.status
        const isWanted =
          !isHeld &&
          (statuses as readonly string[]).includes(status) &&
          (requested === undefined || entry.requestedAt !== null)
        expect(
          `leaseNext of ${statuses.join('+')}${requested ? ' requested' : ''} while ${status}`,
          leased.map(({ dlqId }) => dlqId),
          isWanted ? [id] : [],
          'lease',
        )
        if (isWanted) this.onLeased(entry, until)
        return this.compare(queue, entry, now, check)
      }
      case 3:
      case 4: {
        const isRenewed = await queue.renew(id, owner, until, at)
        expect('renew', isRenewed, isHolder, 'lease')
        if (isHolder) entry.leasedUntil = until.getTime()
        return this.compare(queue, entry, now, check)
      }
      case 5:
      case 6:
      case 7: {
        const status = choices.pick(['completed', 'failed', 'failed', 'pending'] as const)
        const error =
          status === 'failed'
            ? { errorType: 'Error', errorMessage: 'x', stackTrace: '', retryCount: 0 }
            : undefined
        const settled = await queue.settle(id, owner, { status, at, ...(error && { error }) })
        const isAccepted = !isCompleted && (status === 'completed' || isHolder)
        expect('settle', settled !== undefined, isAccepted, status === 'completed' ? 'completed' : 'lease')
        if (isAccepted) this.onSettled(entry, status, now)
        return this.compare(queue, entry, now, check)
      }
      case 8: {
        const completed = await queue.complete(id, at)
        expect('complete', completed?.status, 'completed', 'completed')
        if (!isCompleted) this.onSettled(entry, 'completed', entry.lastAttempt)
        return this.compare(queue, entry, now, check)
      }
      case 9: {
        const requested = await queue.request(id, at)
        expect('request', requested?.dlqId, id, 'lost')
        if (!isCompleted) entry.requestedAt = now
        return this.compare(queue, entry, now, check)
      }
      case 10: {
        const payload = choices.chance(0.3) ? null : { edited: this.idCount++ }
        const edited = await queue.edit(id, payload, at)
        const wanted = isCompleted ? 'done' : isHeld ? 'held' : 'edited'
        expect('edit', edited.result, wanted, 'lease')
        if (wanted === 'edited') entry.editedPayload = payload
        return this.compare(queue, entry, now, check)
      }
      case 11: {
        if (!isCompleted && choices.chance(0.5)) {
          // An insert that is repeated finds the first one, and another payload with its key is a conflict.
          const isSame = choices.chance(0.5)
          const [added] = await queue.add(
            [this.createEntry(`${id}-again`, entry.key, isSame ? entry.payload : { other: true }, now)],
            { maxEntries: 100_000 },
          )
          expect('add', added?.result, isSame ? 'known' : 'conflict', 'lost')
          return this.compare(queue, entry, now, check)
        }
        const count = await queue.purge({ ids: [id] }, at)
        expect('purge', count, isHeld ? 0 : 1, 'lost')
        if (!isHeld) {
          this.entries.delete(id)
          expect('get', await queue.get(id, at), undefined, 'lost')
          expect('isProcessed', await queue.isProcessed(id), this.processed.has(id), 'completed')
        }
        return
      }
      default: {
        expect('isProcessed', await queue.isProcessed(id), this.processed.has(id), 'completed')
        const counts = await queue.count({ itemId: `item-${id}` }, at)
        const view = isHeld ? 'replaying' : entry.isReplaying ? 'pending' : entry.status
        const wanted = { pending: 0, replaying: 0, completed: 0, failed: 0, [view]: 1 }
        expect('count', { ...wanted, ...counts }, wanted, 'counters')
        const { items } = await queue.list({ itemId: `item-${id}`, status: view }, at)
        expect(
          'list',
          items.map(({ dlqId }) => dlqId),
          [id],
          'lost',
        )
      }
    }
  }

  private async add(queue: DeadLetterStore, wall: number, check: (fn: () => void) => void): Promise<void> {
    const id = `${ID_PREFIX}${this.name}-${this.idCount++}`
    const [key, payload, createdAt] = [`key-${id}`, { id, text: 'a payload' }, Math.floor(wall)]
    const [added] = await queue.add([this.createEntry(id, key, payload, createdAt)], { maxEntries: 100_000 })
    check(() => {
      if (added?.result !== 'added') throw new Violation('lost', `the new entry ${id} is ${added?.result}`)
    })
    const entry: Expected = {
      id,
      key,
      payload,
      createdAt,
      editedPayload: undefined,
      status: 'pending',
      isReplaying: false,
      owner: '',
      leasedUntil: 0,
      requestedAt: null,
      lastAttempt: createdAt,
      failures: 0,
    }
    this.entries.set(id, entry)
    return this.compare(queue, entry, createdAt, check)
  }

  /** An entry whose state is not known has one state: counts and lists agree with the entry itself. It is not used any more. */
  private async checkConsistent(
    queue: DeadLetterStore,
    id: string,
    now: Date,
    check: (fn: () => void) => void,
  ): Promise<void> {
    const entry = await queue.get(id, now)
    const counts = await queue.count({ itemId: `item-${id}` }, now)
    const { items } = await queue.list({ itemId: `item-${id}`, status: entry?.status }, now)
    const isProcessed = await queue.isProcessed(id)
    this.uncertain.delete(id)
    check(() => {
      const found = Object.entries(counts).filter(([, count]) => count > 0)
      const wanted = entry === undefined ? [] : [[entry.status, 1]]
      if (!isDeepStrictEqual(found, wanted) || items.length !== wanted.length)
        throw new Violation(
          'lost',
          `the store of ${this.name} has ${id} as ${entry?.status}, counts it as ${JSON.stringify(found)} and lists it ${items.length} times`,
        )
      if (
        (entry !== undefined && isProcessed !== (entry.status === 'completed')) ||
        (!isProcessed && this.processed.has(id))
      )
        throw new Violation('completed', `${id} is ${entry?.status}, and isProcessed returned ${isProcessed}`)
    })
  }

  /** A time before, at or after the end of the lease, or the time of now. */
  private pickTime({ isReplaying, leasedUntil }: Expected, wall: number): number {
    const now = Math.floor(wall)
    if (!isReplaying) return now
    return this.choices.pick([leasedUntil - 5000, leasedUntil - 1, leasedUntil, leasedUntil + 1])
  }

  private nextOwner(): string {
    return `owner-${this.name}-${++this.ownerCount}`
  }

  private onLeased(entry: Expected, until: Date): void {
    entry.isReplaying = true
    entry.owner = `owner-${this.name}-${this.ownerCount}`
    entry.leasedUntil = until.getTime()
  }

  private onSettled(entry: Expected, status: 'completed' | 'failed' | 'pending', at: number): void {
    entry.isReplaying = false
    entry.leasedUntil = 0
    if (status === 'pending') entry.status = entry.failures > 0 ? 'failed' : 'pending'
    else {
      entry.status = status
      entry.requestedAt = null
      entry.lastAttempt = Math.max(entry.lastAttempt, at)
      if (status === 'failed') entry.failures++
      else this.processed.add(entry.id)
    }
  }

  /** Compares an entry of the store with what is expected. */
  private async compare(
    queue: DeadLetterStore,
    entry: Expected,
    now: number,
    check: (fn: () => void) => void,
  ): Promise<void> {
    const stored = await queue.get(entry.id, new Date(now))
    const isHeld = entry.isReplaying && entry.leasedUntil > now
    const wanted = {
      status: isHeld ? 'replaying' : entry.isReplaying ? 'pending' : entry.status,
      payload: entry.payload,
      editedPayload: entry.editedPayload ?? null,
      leasedUntil: isHeld ? entry.leasedUntil : null,
      requestedAt: entry.requestedAt,
      lastAttempt: entry.lastAttempt,
      createdAt: entry.createdAt,
      failures: entry.failures,
      processed: entry.status === 'completed',
    }
    const got = stored && {
      status: stored.status,
      payload: stored.originalPayload,
      editedPayload: stored.editedPayload ?? null,
      leasedUntil: stored.leasedUntil?.getTime() ?? null,
      requestedAt: stored.replayRequestedAt?.getTime() ?? null,
      lastAttempt: stored.lastAttempt.getTime(),
      createdAt: stored.createdAt.getTime(),
      failures: stored.errorDetails.history?.length ?? 0,
      processed: stored.processed,
    }
    check(() => {
      if (!isDeepStrictEqual(got, wanted))
        throw new Violation(
          'lost',
          `the store of ${this.name} has ${entry.id} as ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`,
        )
    })
  }

  private createEntry(id: string, key: string, payload: unknown, at: number): DeadLetter {
    return {
      schema: SCHEMA,
      dlqId: id,
      itemId: `item-${id}`,
      operationType: CONTRACT_OPERATION,
      status: 'pending',
      originalPayload: payload,
      errorDetails: { errorType: 'Error', errorMessage: 'down', stackTrace: '', retryCount: 0 },
      createdAt: new Date(at),
      lastAttempt: new Date(at),
      replayedAt: null,
      processed: false,
      idempotencyKey: key,
      policyId: 'contract',
    } as DeadLetter
  }
}
