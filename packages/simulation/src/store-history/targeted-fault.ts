import type { Choices } from '../engine/seeded-random.js'

/** What happens at one operation of a process on its disk. */
const TARGETED_FAULTS = [
  /** The operation fails and has no effect. */
  'error',
  /** A write makes a part of it, and fails. */
  'torn_error',
  /** The process dies before or after the operation, or after a part of a write. */
  'kill_before',
  'kill_after',
  'torn_kill',
  /** The machine loses its power before or after the operation. */
  'power_before',
  'power_after',
  /** The process does not respond for some time after the operation, and other processes take over its locks. */
  'stop',
] as const
type TargetedFaultKind = (typeof TARGETED_FAULTS)[number]

/** Half of the faults hit one of the first operations, and the others one of as many as a large change has. */
const FEW_OPERATIONS = 10
const MANY_OPERATIONS = 40

/** A fault that hits exactly the n-th operation of a process. */
export interface TargetedFault {
  readonly kind: TargetedFaultKind
  /** How many operations are left until it happens, with the one that it hits. */
  remaining: number
  /** The share of a write that is made. */
  readonly share: number
  wasHit: boolean
}

export const planTargetedFault = (choices: Choices): TargetedFault => ({
  kind: choices.pick(TARGETED_FAULTS),
  remaining: 1 + choices.below(choices.pick([FEW_OPERATIONS, MANY_OPERATIONS])),
  share: choices.random(),
  wasHit: false,
})
