import type { BreakerState, CircuitBreaker } from '../../breaker/breaker.js'
import { OutcomeWindow } from '../../breaker/window.js'
import type { MemberBreakers } from '../members/member-breakers.js'
import type { SlotTable } from '../members/slot-table.js'

/** The state of a slot's breaker before the first local fault, and the failures that were counted since. */
interface BreakerCheckpoint {
  readonly generation: number
  readonly state: BreakerState
  readonly epoch: number
  readonly entries: readonly number[]
  readonly failures: number
  readonly consecutiveOpens: number
  readonly openDuration: number
  readonly closedAt: number
  readonly lastFailure: number | undefined
  readonly opens: number
  /** The times of the local faults, and the durations of their attempts. */
  readonly faultTimes: number[]
  readonly durations: number[]
  /** The times of other failures. */
  readonly otherFailureTimes: number[]
  /** The epoch that began when failures opened the breaker; -1 if they did not. */
  openedEpoch: number
}

/**
 * Records the local faults that were counted against members, because the network can turn out to be the cause. Then they are
 * rolled back: the failures are removed from the windows, and a breaker that they opened is closed or can probe at once.
 */
export class LocalFaultRollback {
  private readonly checkpoints = new Map<number, BreakerCheckpoint>()
  private readonly slotTable: SlotTable
  private readonly breakers: MemberBreakers

  constructor(slotTable: SlotTable, breakers: MemberBreakers) {
    this.slotTable = slotTable
    this.breakers = breakers
  }

  /** Must be called before a local fault is counted against a slot. Faults before `since` are no longer rolled back. */
  recordFault(slot: number, duration: number, now: number, since: number): void {
    const { checkpoints, slotTable } = this
    let checkpoint = checkpoints.get(slot)
    if (checkpoint !== undefined) removeBefore(checkpoint, since)
    if (
      checkpoint === undefined ||
      checkpoint.faultTimes.length === 0 ||
      checkpoint.generation !== slotTable.generation(slot)
    ) {
      checkpoint = this.createCheckpoint(slot)
      checkpoints.set(slot, checkpoint)
    }
    checkpoint.faultTimes.push(now)
    checkpoint.durations.push(duration)
  }

  /** Must be called at any other failure that counts against a slot. */
  recordOtherFailure(slot: number, now: number): void {
    this.checkpoints.get(slot)?.otherFailureTimes.push(now)
  }

  /** Must be called when an outcome opens the breaker of a slot. */
  recordOpening(slot: number, epoch: number): void {
    const checkpoint = this.checkpoints.get(slot)
    if (checkpoint !== undefined) checkpoint.openedEpoch = epoch
  }

  /** The members caused the faults, so that nothing is rolled back. Calls `record` for each fault. */
  confirmFaults(record: (slot: number, duration: number) => void): void {
    const { checkpoints, slotTable } = this
    for (const [slot, { generation, durations }] of checkpoints)
      if (generation === slotTable.generation(slot)) for (const duration of durations) record(slot, duration)
    checkpoints.clear()
  }

  /** The network caused the faults: rolls back those at or after `since`. Returns the affected slots. */
  rollBack(since: number): number[] {
    const slots: number[] = []
    for (const [slot, checkpoint] of this.checkpoints) {
      removeBefore(checkpoint, since)
      if (checkpoint.faultTimes.length === 0 || checkpoint.generation !== this.slotTable.generation(slot))
        continue
      slots.push(slot)
      const breaker = this.breakers.find(slot)
      this.slotTable.counters.addFailures(slot, -checkpoint.faultTimes.length)
      if (breaker === undefined) this.breakers.rollBackFailure(slot, checkpoint.lastFailure)
      else if (restoreCheckpoint(breaker, checkpoint))
        this.slotTable.counters.addOpens(slot, checkpoint.opens - this.slotTable.counters.opens(slot))
    }
    this.checkpoints.clear()
    return slots
  }

  private createCheckpoint(slot: number): BreakerCheckpoint {
    const { breakers, slotTable } = this
    const breaker = breakers.find(slot)
    const {
      currentState = 'closed',
      epoch = 0,
      failures = 0,
      consecutiveOpens = 0,
      openDuration = 0,
    } = breaker ?? {}
    return {
      generation: slotTable.generation(slot),
      state: currentState,
      epoch,
      entries: breaker === undefined ? breakers.windowEntries(slot) : windowEntriesOf(breaker),
      failures,
      consecutiveOpens,
      openDuration,
      closedAt: breaker?.closedAt ?? Number.NEGATIVE_INFINITY,
      lastFailure: breaker === undefined ? breakers.lastFailure(slot) : breaker.lastFailureTime,
      opens: slotTable.counters.opens(slot),
      faultTimes: [],
      durations: [],
      otherFailureTimes: [],
      openedEpoch: -1,
    }
  }
}

/** Removes the faults before a time. */
function removeBefore({ faultTimes, durations }: BreakerCheckpoint, since: number): void {
  while ((faultTimes[0] as number) < since) {
    faultTimes.shift()
    durations.shift()
  }
}

const windowEntriesOf = ({ window, settings }: CircuitBreaker): number[] =>
  window?.toEntries(settings.clock.now(), (time) => time) ?? []

function restoreCheckpoint(breaker: CircuitBreaker, checkpoint: BreakerCheckpoint): boolean {
  const { settings } = breaker
  if (breaker.epoch === checkpoint.epoch) {
    breaker.lastFailureTime = checkpoint.lastFailure
    breaker.window = OutcomeWindow.fromEntries(
      settings,
      removeFailures(windowEntriesOf(breaker), checkpoint.faultTimes),
    )
    return false
  }
  // A later change by an operator or a probe is not overwritten.
  if (breaker.epoch !== checkpoint.openedEpoch) return false
  if (checkpoint.state === 'closed') {
    const entries = [
      ...checkpoint.entries,
      ...checkpoint.otherFailureTimes.flatMap((time) => [time, 1, 1, 0]),
    ]
    if (settings.windowType !== 'rate' && entries.length / 4 >= settings.failureThreshold) return false
    breaker.reset()
    breaker.window = OutcomeWindow.fromEntries(settings, entries)
    breaker.closedAt = checkpoint.closedAt
  } else {
    breaker.failures = checkpoint.failures
    breaker.openUntil = settings.clock.now()
  }
  breaker.lastFailureTime = checkpoint.lastFailure
  breaker.consecutiveOpens = checkpoint.consecutiveOpens
  breaker.openDuration = checkpoint.openDuration
  return true
}

/** Removes the failures at these times from window entries. A failure is in the last entry that began at or before its time. */
function removeFailures(entries: readonly number[], times: readonly number[]): number[] {
  const remaining = [...entries]
  for (const time of times) {
    let offset = remaining.length - 4
    while (offset >= 0 && ((remaining[offset] as number) > time || remaining[offset + 2] === 0)) offset -= 4
    if (offset < 0) continue
    ;(remaining[offset + 1] as number) -= 1
    ;(remaining[offset + 2] as number) -= 1
  }
  return remaining.filter((_, i) => (remaining[i - (i % 4) + 1] as number) > 0)
}
