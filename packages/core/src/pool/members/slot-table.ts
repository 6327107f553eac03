import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { Member } from './member.js'
import { MemberCounters } from './member-counters.js'

/** The first capacity; it doubles, so that it is always a power of two. */
const INITIAL_CAPACITY = 32

/**
 * Who is in the pool. Each member has a slot, a small number under which everything about it is kept in columns; a new
 * one takes the slot that was left last, or the next.
 */
export class SlotTable<T = unknown> {
  readonly counters: MemberCounters
  /** Grows with each member that leaves a slot, so that what is late for it does not reach the next. */
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

  /** Keeps a column as long as the roster. */
  register<G extends SlotIndexed>(index: G): G {
    this.indexes.push(index)
    index.grow(this.capacity)
    return index
  }

  /** Keeps a column no more. */
  unregister(index: SlotIndexed | undefined): void {
    const at = index === undefined ? -1 : this.indexes.indexOf(index)
    if (at >= 0) this.indexes.splice(at, 1)
  }

  slotOf(id: string): number | undefined {
    return this.slotById.get(id)
  }

  /** The member of a slot that has one. */
  member(slot: number): Member<T> {
    return this.memberBySlot[slot] as Member<T>
  }

  /** The slots that have a member. */
  usedSlots(): IterableIterator<number> {
    return this.slotById.values()
  }

  members(): Member<T>[] {
    return this.memberBySlot.filter((member) => member !== undefined)
  }

  /** Which member of a slot this is, counted from 0. */
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

  /** Puts a member of the same id in the place of another. */
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
    for (const column of this.indexes) column.grow(this.capacity)
  }
}
