import { isDeepStrictEqual } from 'node:util'
import { type DeadLetter, SCHEMA } from '@holdfast/records'
import type { DeadLetterStore, Settlement } from '@holdfast/store'
import type { Choices } from '../engine/seeded-random.js'
import { format } from './history-part.js'
import {
  complete,
  edit,
  isHeld,
  lease,
  type ModelChange,
  type ModelEntry,
  renew,
  request,
  rewrite,
  settle,
  visibleFields,
  withLease,
} from './queue-rules.js'
import { ITEMS, OPERATIONS, planFilter, selectEntries, selectNext } from './queue-selection.js'

/** About how many entries there are. More are deleted. */
const MAX_ENTRIES = 10

const LEASE_MS = 60_000

/** The share of changes that are about an entry that was changed last. */
const RECENT_SHARE = 0.5

/** A change of a few entries: how the store makes it, and what it does according to the interface. */
export interface PlannedChange {
  readonly what: string
  /** Whether the store may carry out the call twice and return the second result: an entry is added once. */
  readonly isRepeatable?: boolean
  call(queue: DeadLetterStore): Promise<unknown>
  /** The result and the changed entries. */
  apply(entries: ReadonlyMap<string, ModelEntry>): {
    readonly result: unknown
    readonly changed: ReadonlyMap<string, ModelEntry | undefined>
    /** The entries whose stored state is the result, and therefore durable. */
    readonly confirmed: readonly string[]
  }
}

/** Chooses changes of dead letters. */
export class QueueChanges {
  private readonly choices: Choices
  private idCount = 0
  private orderCount = 0

  constructor(choices: Choices) {
    this.choices = choices
  }

  /**
   * @param isAlone - whether no other change is made in the same turn of the event loop
   * @param recent - the entries that were changed last, which most changes are about
   */
  plan(
    entries: readonly ModelEntry[],
    now: number,
    isAlone: boolean,
    recent: readonly ModelEntry[],
  ): PlannedChange {
    const { choices } = this
    if (entries.length === 0 || choices.chance(entries.length < MAX_ENTRIES ? 0.25 : 0.02))
      return this.planAdd(entries, now, isAlone, recent)
    const entry =
      recent.length > 0 && choices.chance(RECENT_SHARE) ? choices.pick(recent) : choices.pick(entries)
    const { id } = entry
    const owner = entry.owner !== undefined && choices.chance(0.7) ? entry.owner : `owner-${choices.below(3)}`
    const at = new Date(now)
    const until = now + choices.pick([1, LEASE_MS])
    switch (choices.below(14)) {
      case 0:
      case 1:
        return change(
          `lease of ${id}`,
          id,
          (queue) => queue.lease(id, owner, new Date(until), at),
          (stored) => lease(stored, owner, until, now),
        )
      case 2:
        return change(
          `renew of ${id}`,
          id,
          (queue) => queue.renew(id, owner, new Date(until), at),
          (stored) => renew(stored, owner, until, now),
        )
      case 3:
      case 4:
      case 5: {
        const settlement = this.planSettlement(at)
        return change(
          `settle of ${id} as ${settlement.status}`,
          id,
          (queue) => queue.settle(id, owner, settlement),
          (stored) => settle(stored, owner, settlement),
        )
      }
      case 6:
        return change(
          `complete of ${id}`,
          id,
          (queue) => queue.complete(id, at),
          (stored) => complete(stored, now),
        )
      case 7:
        return change(
          `request of ${id}`,
          id,
          (queue) => queue.request(id, at),
          (stored) => request(stored, now),
        )
      case 8: {
        const payload = choices.chance(0.3) ? null : { edited: this.idCount++ }
        return change(
          `edit of ${id}`,
          id,
          (queue) => queue.edit(id, payload, at),
          (stored) => edit(stored, payload, now),
        )
      }
      case 9: {
        const read = { originalPayload: entry.payload, editedPayload: entry.editedPayload }
        const originalPayload = { rewritten: this.idCount++ }
        const editedPayload = choices.chance(0.5) ? { edited: this.idCount++ } : undefined
        const written = { originalPayload, editedPayload }
        return change(
          `rewrite of ${id}`,
          id,
          (queue) => queue.rewrite(id, read, written),
          (stored) => rewrite(stored, entry, written),
        )
      }
      case 10:
      case 11:
        return this.planLeaseNext(entries, owner, until, now)
      default:
        return this.planPurge(entries, now)
    }
  }

  private planSettlement(at: Date): Settlement {
    const { choices } = this
    const status = choices.pick(['completed', 'failed', 'failed', 'pending'] as const)
    const errorMessage = `failure ${this.idCount++}`
    return {
      status,
      at,
      ...(status === 'failed' && {
        error: { errorType: 'Error', errorMessage, stackTrace: '', retryCount: 0 },
      }),
    }
  }

  /** New entries, of which some have the key or the id of another one, and a limit that is reached in some cases. */
  private planAdd(
    entries: readonly ModelEntry[],
    now: number,
    isAlone: boolean,
    recent: readonly ModelEntry[],
  ): PlannedChange {
    const { choices } = this
    const open = entries.filter(({ status }) => status !== 'completed').length
    const maxEntries = choices.chance(0.2) ? Math.max(0, open + choices.below(3) - 1) : 1000
    const added = Array.from({ length: choices.pick([1, 1, 2]) }, () => {
      const others = recent.length > 0 ? recent : entries
      const other = others.length > 0 && choices.chance(0.4) ? choices.pick(others) : undefined
      return this.createEntry(other, now, isAlone)
    })
    return {
      what: `add of ${added.map(({ id, key }) => `${id} (${key})`).join(', ')} up to ${maxEntries}`,
      isRepeatable: true,
      call: (queue) => queue.add(added.map(toDeadLetter), { maxEntries }),
      apply: (stored) => {
        const all = new Map(stored)
        const changed = new Map<string, ModelEntry>()
        const confirmed: string[] = []
        const result = added.map((entry) => {
          const same = [...all.values()].find(({ key }) => key === entry.key) ?? all.get(entry.id)
          if (same !== undefined) {
            confirmed.push(same.id)
            return {
              result: isDeepStrictEqual(same.payload, entry.payload) ? 'known' : 'conflict',
              entry: visibleFields(same),
            }
          }
          const openCount = [...all.values()].filter(({ status }) => status !== 'completed').length
          if (openCount >= maxEntries) return { result: 'full' }
          all.set(entry.id, entry)
          changed.set(entry.id, entry)
          return { result: 'added', entry: visibleFields(entry) }
        })
        return { result, changed, confirmed }
      },
    }
  }

  /** An entry with the key or the id of another one. The id of an entry that was deleted is not used again. */
  private createEntry(other: ModelEntry | undefined, now: number, canHaveSameId: boolean): ModelEntry {
    const { choices } = this
    const number = this.idCount++
    const hasSameId = other !== undefined && canHaveSameId && choices.chance(0.3)
    return {
      id: hasSameId ? other.id : `dlq-${number}`,
      key: other === undefined || hasSameId ? `key-${number}` : other.key,
      itemId: choices.pick(ITEMS),
      operation: choices.pick(OPERATIONS),
      createdAt: now,
      order: this.orderCount++,
      payload: other !== undefined && choices.chance(0.5) ? other.payload : { number, text: 'ä payload' },
      editedPayload: null,
      status: 'pending',
      leasedUntil: null,
      owner: undefined,
      requestedAt: null,
      lastAttempt: now,
      replayedAt: null,
      failures: [],
    }
  }

  private planLeaseNext(
    entries: readonly ModelEntry[],
    owner: string,
    until: number,
    now: number,
  ): PlannedChange {
    const { choices } = this
    const { operation, status: _status, ...filter } = planFilter(choices, entries)
    const want = {
      ...filter,
      statuses: choices.pick([['pending'], ['failed'], ['pending', 'failed']] as const),
      limit: choices.pick([1, 2, 5]),
      ...(operation !== undefined && { operations: [operation, choices.pick(OPERATIONS)] }),
      ...(choices.chance(0.4) && { requested: true }),
      ...(choices.chance(0.2) && { ids: [choices.pick(entries).id, choices.pick(entries).id] }),
      ...(choices.chance(0.2) && { except: new Set([choices.pick(entries).id]) }),
    }
    return {
      what: `leaseNext of ${format({ ...want, except: [...(want.except ?? [])] })}`,
      call: (queue) => queue.leaseNext(want, owner, new Date(until), new Date(now)),
      apply: (stored) => {
        const leased = selectNext([...stored.values()], want, now).map((entry) =>
          withLease(entry, owner, until),
        )
        return {
          result: leased.map(visibleFields),
          changed: new Map(leased.map((entry) => [entry.id, entry])),
          confirmed: [],
        }
      },
    }
  }

  private planPurge(entries: readonly ModelEntry[], now: number): PlannedChange {
    const { choices } = this
    const isCrowded = entries.length > MAX_ENTRIES
    const filter = {
      ...(isCrowded ? {} : planFilter(choices, entries)),
      ...(choices.chance(isCrowded ? 0.1 : 0.6) && {
        ids: [choices.pick(entries).id, choices.pick(entries).id],
      }),
      ...(choices.chance(0.5) && { limit: 1 + choices.below(3) }),
      ...(choices.chance(0.4) && { order: choices.pick(['oldest', 'newest'] as const) }),
    }
    const { ids, limit = Number.POSITIVE_INFINITY, order } = filter
    return {
      what: `purge of ${format(filter)}`,
      call: (queue) => queue.purge(filter, new Date(now)),
      apply: (stored) => {
        const found = selectEntries([...stored.values()], filter, now).filter(
          (entry) => !isHeld(entry, now) && (ids === undefined || ids.includes(entry.id)),
        )
        if (order === 'newest') found.reverse()
        const purged = found.slice(0, limit)
        return {
          result: purged.length,
          changed: new Map(purged.map(({ id }) => [id, undefined])),
          confirmed: [],
        }
      },
    }
  }
}

/** A change of one entry. */
const change = (
  what: string,
  id: string,
  call: (queue: DeadLetterStore) => Promise<unknown>,
  decide: (entry: ModelEntry | undefined) => ModelChange,
): PlannedChange => ({
  what,
  call,
  apply: (entries) => {
    const before = entries.get(id)
    const { result, entry } = decide(before)
    const isChanged = entry !== before
    // A change of an entry that does not exist confirms nothing.
    const isConfirmed = !isChanged && result !== undefined
    return { result, changed: new Map(isChanged ? [[id, entry]] : []), confirmed: isConfirmed ? [id] : [] }
  },
})

const toDeadLetter = (entry: ModelEntry): DeadLetter =>
  ({
    schema: SCHEMA,
    dlqId: entry.id,
    itemId: entry.itemId,
    operationType: entry.operation,
    status: 'pending',
    originalPayload: entry.payload,
    errorDetails: { errorType: 'Error', errorMessage: 'down', stackTrace: '', retryCount: 0 },
    createdAt: new Date(entry.createdAt),
    lastAttempt: new Date(entry.lastAttempt),
    replayedAt: null,
    processed: false,
    idempotencyKey: entry.key,
    policyId: 'history',
  }) as DeadLetter
