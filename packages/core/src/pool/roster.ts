import { type Growing, grown } from './indexes/grown.js'
import { Ledger } from './ledger.js'
import type { Member } from './member.js'

/** The first capacity; it doubles, so that it is always a power of two. */
const ROOM = 32

/**
 * Who is in the pool. Each member has a slot, a small number under which everything about it is kept in columns; a new
 * one takes the slot that was left last, or the next.
 */
export class Roster<T = unknown> {
  readonly ledger: Ledger
  /** Grows with each member that leaves a slot, so that what is late for it does not reach the next. */
  private lives = new Uint32Array(ROOM)
  private readonly list: (Member<T> | undefined)[] = []
  private readonly slots = new Map<string, number>()
  private readonly left: number[] = []
  private readonly growing: Growing[] = []
  private capacity = ROOM

  constructor() {
    this.ledger = this.keep(new Ledger())
  }

  get size(): number {
    return this.slots.size
  }

  /** Keeps a column as long as the roster. */
  keep<G extends Growing>(column: G): G {
    this.growing.push(column)
    column.grow(this.capacity)
    return column
  }

  /** Keeps a column no more. */
  drop(column: Growing | undefined): void {
    const at = column === undefined ? -1 : this.growing.indexOf(column)
    if (at >= 0) this.growing.splice(at, 1)
  }

  slotOf(id: string): number | undefined {
    return this.slots.get(id)
  }

  /** The member of a slot that has one. */
  member(slot: number): Member<T> {
    return this.list[slot] as Member<T>
  }

  /** The slots that have a member. */
  taken(): IterableIterator<number> {
    return this.slots.values()
  }

  members(): Member<T>[] {
    return this.list.filter((member) => member !== undefined)
  }

  /** Which member of a slot this is, counted from 0. */
  life(slot: number): number {
    return this.lives[slot] as number
  }

  add(member: Member<T>): number {
    const slot = this.left.pop() ?? this.list.length
    if (slot === this.capacity) this.grow()
    this.list[slot] = member
    this.slots.set(member.id, slot)
    return slot
  }

  /** Puts a member of the same id in the place of another. */
  replace(slot: number, member: Member<T>): void {
    this.list[slot] = member
  }

  remove(slot: number): void {
    this.slots.delete(this.member(slot).id)
    this.list[slot] = undefined
    this.left.push(slot)
    ;(this.lives[slot] as number) += 1
  }

  private grow(): void {
    this.capacity *= 2
    this.lives = grown(this.lives, this.capacity)
    for (const column of this.growing) column.grow(this.capacity)
  }
}
