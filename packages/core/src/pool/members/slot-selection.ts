import type { PermitState } from '../../breaker/permit.js'
import type { Member } from './member.js'
import type { Selection } from './member-pool.js'

/**
 * The progress of a selection: its attempt runs, it has settled, or it has settled with a response. A suspected selection
 * failed in a way that counts against its member only if another member answers the same call.
 */
export type SelectionProgress = 'running' | 'settled' | 'answered' | 'suspected'

/** A member selected for one attempt, with the permit state of its breaker and what the pool needs to record the outcome. */
export class SlotSelection<T = unknown> implements Selection<T>, PermitState {
  epoch = 0
  startedAt = 0
  leaseEnd = 0
  readonly member: Member<T>
  readonly slot: number
  /** The generation of the slot at the selection: a later member of the same slot has another one. */
  readonly generation: number
  /** The time of the selection. */
  readonly selectedAt: number
  /** The epoch of the breaker that admitted the attempt; -1 when the attempt runs in spite of a rejection by the breaker. */
  admittedEpoch = 0
  progress: SelectionProgress = 'running'
  duration = 0

  constructor(member: Member<T>, slot: number, generation: number, selectedAt: number) {
    this.member = member
    this.slot = slot
    this.generation = generation
    this.selectedAt = selectedAt
  }
}

/** An instance that is never collected: V8 discards code that was compiled for a class without a live instance. */
let retainedSelection: SlotSelection | undefined

/** Keeps V8 from discarding the compiled code for selections at a full garbage collection between calls. */
export function retainSelectionShape(): void {
  if (retainedSelection !== undefined) return
  retainedSelection = new SlotSelection({ id: '', value: undefined }, 0, 0, 0.5)
  // Times have fractions. V8 then represents these fields as doubles from the start.
  retainedSelection.startedAt = retainedSelection.leaseEnd = retainedSelection.duration = 0.5
}
