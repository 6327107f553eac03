import type { Choices } from '../engine/seeded-random.js'
import type { FileOperation } from './observed-file-system.js'

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

/** Which operations are counted: all, or those of one kind, so that the few ones of a change that matter are hit often. */
const COUNTED_OPERATIONS = ['all', 'changes', 'flushes'] as const

/** How many operations a call has at most, in most cases. */
const MAX_COUNTS = { all: 30, changes: 6, flushes: 5 } as const

/** A write that is torn ends anywhere, or just before its last byte: then only the end of its line is missing. */
const ALL_BUT_ONE_BYTE = 1 - 1e-9

/** A fault that hits exactly the n-th operation of a process. */
export interface TargetedFault {
  readonly kind: TargetedFaultKind
  readonly counted: (typeof COUNTED_OPERATIONS)[number]
  /** How many operations are left until it happens, with the one that it hits. */
  remaining: number
  /** The share of a write that is made. */
  readonly share: number
  wasHit: boolean
}

export function planTargetedFault(choices: Choices): TargetedFault {
  const counted = choices.pick(COUNTED_OPERATIONS)
  return {
    kind: choices.pick(TARGETED_FAULTS),
    counted,
    remaining: 1 + choices.below(MAX_COUNTS[counted]),
    share: choices.chance(0.3) ? ALL_BUT_ONE_BYTE : choices.random(),
    wasHit: false,
  }
}

/** Whether an operation is the one that the fault hits. */
export function isHit(fault: TargetedFault, { name, isChange }: FileOperation): boolean {
  const isFlush = name === 'fsync' || name === 'fdatasync'
  const isCounted = fault.counted === 'all' || (fault.counted === 'flushes' ? isFlush : isChange)
  if (fault.wasHit || !isCounted || --fault.remaining > 0) return false
  fault.wasHit = true
  return true
}
