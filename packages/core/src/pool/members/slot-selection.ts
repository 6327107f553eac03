import type { PermitState } from '../../breaker/permit.js'
import type { Member } from './member.js'
import type { Selection } from './member-pool.js'

/**
 * How far a pick has come: its call runs; it was settled; it was settled with an answer; it is accused, which is to say
 * that it failed in a way that is its member's fault if another member answers.
 */
export type SelectionProgress = 'running' | 'settled' | 'answered' | 'accused'

/** A member taken for one attempt: what its breaker must know of the call, and the pool. */
export class SlotSelection<T = unknown> implements Selection<T>, PermitState {
  epoch = 0
  startedAt = 0
  leaseEnd = 0
  readonly member: Member<T>
  readonly slot: number
  /** The life of the slot in which it was taken. */
  readonly generation: number
  /** When it was taken. */
  readonly selectedAt: number
  /** The breaker's epoch that admitted it; -1 where the breaker was not asked. */
  admittedEpoch = 0
  progress: SelectionProgress = 'running'
  duration = 0

  constructor(member: Member<T>, slot: number, life: number, at: number) {
    this.member = member
    this.slot = slot
    this.generation = life
    this.selectedAt = at
  }
}

/** One that lives as long as the process: V8 discards code that was compiled for a class without a live instance. */
let kept: SlotSelection | undefined

/** Keeps code for taken members from being discarded at a full garbage collection between calls. */
export function keepTakenShape(): void {
  if (kept !== undefined) return
  kept = new SlotSelection({ id: '', value: undefined }, 0, 0, 0.5)
  // Fractions, as times have: V8 then lays these fields out as doubles for good.
  kept.startedAt = kept.leaseEnd = kept.duration = 0.5
}
