import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { Member } from './member.js'
import { MemberCounters } from './member-counters.js'

/** The initial number of slots. The capacity doubles when it is exceeded, so it is always a power of two. */
const INITIAL_CAPACITY = 32

/**
 * The members of a pool by slot. A slot is a small integer, the row of a member in every index of the pool. A new member
 * gets the slot that was freed last, or the next unused one.
 */
export class SlotTable<T = unknown> {
  readonly counters: MemberCounters
  /** Incremented when a member leaves its slot, so that a late outcome is not recorded for the next member of the slot. */
  private generations = new Uint32Array(INITIAL_CAPACITY)
  private readonly memberBySlot: (Member<T> | undefined)[] = []
  private readonly slotById = new Map<string, number>()
  private readonly freeSlots: number[] = []
  private readonly indexes: SlotIndexed[] = []
  private capacity = INITIAL_CAPACITY

  constructor() {
    this.counters = this.register(new MemberCounters())
  }

  get size(): number {
    return this.slotById.size
  }

  /** Grows `index` to the capacity of the table, now and whenever the table grows. */
  register<G extends SlotIndexed>(index: G): G {
    this.indexes.push(index)
    index.grow(this.capacity)
    return index
  }

  /** Stops growing `index`. */
  unregister(index: SlotIndexed | undefined): void {
    const at = index === undefined ? -1 : this.indexes.indexOf(index)
    if (at >= 0) this.indexes.splice(at, 1)
  }

  slotOf(id: string): number | undefined {
    return this.slotById.get(id)
  }

  /** The member of a slot, which must be in use. */
  member(slot: number): Member<T> {
    return this.memberBySlot[slot] as Member<T>
  }

  /** The slots that have a member, in the order in which the members were added. */
  usedSlots(): IterableIterator<number> {
    return this.slotById.values()
  }

  members(): Member<T>[] {
    return this.memberBySlot.filter((member) => member !== undefined)
  }

  /** How many members the slot had before the current one. */
  generation(slot: number): number {
    return this.generations[slot] as number
  }

  add(member: Member<T>): number {
    const slot = this.freeSlots.pop() ?? this.memberBySlot.length
    if (slot === this.capacity) this.grow()
    this.memberBySlot[slot] = member
    this.slotById.set(member.id, slot)
    return slot
  }

  /** Replaces the member of a slot by another one with the same id. */
  replace(slot: number, member: Member<T>): void {
    this.memberBySlot[slot] = member
  }

  remove(slot: number): void {
    this.slotById.delete(this.member(slot).id)
    this.memberBySlot[slot] = undefined
    this.freeSlots.push(slot)
    ;(this.generations[slot] as number) += 1
  }

  private grow(): void {
    this.capacity *= 2
    this.generations = growArray(this.generations, this.capacity)
    for (const index of this.indexes) index.grow(this.capacity)
  }
}
