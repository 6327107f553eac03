import type { BreakerState, CircuitBreaker } from '../../breaker/breaker.js'
import { OutcomeWindow } from '../../breaker/window.js'
import type { MemberBreakers } from '../members/member-breakers.js'
import type { SlotTable } from '../members/slot-table.js'

/** How a slot's breaker was before the first fault, and what has been blamed on it since. */
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
  /** When the faults were, and how long the attempts had taken. */
  readonly faultTimes: number[]
  readonly durations: number[]
  /** When it failed otherwise. */
  readonly otherFailureTimes: number[]
  /** The epoch that began when failures opened it. */
  openedEpoch: number
}

/**
 * Remembers what local faults were blamed on members, because it may turn out that the network was to blame. Then it is
 * taken back: the failures leave the windows, and what they opened is closed, or tested anew.
 */
export class LocalFaultRollback {
  private readonly checkpoints = new Map<number, BreakerCheckpoint>()
  private readonly slotTable: SlotTable
  private readonly breakers: MemberBreakers

  constructor(roster: SlotTable, breakers: MemberBreakers) {
    this.slotTable = roster
    this.breakers = breakers
  }

  /** To be told before a local fault is counted against a slot. Faults from before `since` are not taken back. */
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

  /** To be told of any other failure that counts against a slot. */
  recordOtherFailure(slot: number, now: number): void {
    this.checkpoints.get(slot)?.otherFailureTimes.push(now)
  }

  /** A slot's breaker was opened by a result. */
  recordOpening(slot: number, epoch: number): void {
    const checkpoint = this.checkpoints.get(slot)
    if (checkpoint !== undefined) checkpoint.openedEpoch = epoch
  }

  /** It was the members' own fault: nothing is taken back. Each fault is told to `record`. */
  confirmFaults(record: (slot: number, duration: number) => void): void {
    const { checkpoints, slotTable } = this
    for (const [slot, { generation, durations }] of checkpoints)
      if (generation === slotTable.generation(slot)) for (const duration of durations) record(slot, duration)
    checkpoints.clear()
  }

  /** It was the network's: all since then is taken back. Gives the slots that it concerns. */
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

/** Forgets the faults from before a time. */
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
  // What somebody did by hand, or what a test has changed since, is left alone.
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

/** A window's log without the failures at these times: the entry that a failure is in began at its time or before. */
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
