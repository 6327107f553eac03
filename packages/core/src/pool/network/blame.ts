import type { BreakerState, CircuitBreaker } from '../../breaker/breaker.js'
import { Window } from '../../breaker/window.js'
import type { MemberBreakers } from '../breakers.js'
import type { Roster } from '../roster.js'

/** How a slot's breaker was before the first fault, and what has been blamed on it since. */
interface Account {
  readonly life: number
  readonly phase: BreakerState
  readonly epoch: number
  readonly log: readonly number[]
  readonly failures: number
  readonly openings: number
  readonly openFor: number
  readonly closedAt: number
  readonly lastFailure: number | undefined
  readonly opens: number
  /** When the faults were, and how long the attempts had taken. */
  readonly times: number[]
  readonly durations: number[]
  /** When it failed otherwise. */
  readonly others: number[]
  /** The epoch that began when failures opened it. */
  opened: number
}

/**
 * Remembers what local faults were blamed on members, because it may turn out that the network was to blame. Then it is
 * taken back: the failures leave the windows, and what they opened is closed, or tested anew.
 */
export class Blame {
  private readonly accounts = new Map<number, Account>()
  private readonly roster: Roster
  private readonly breakers: MemberBreakers

  constructor(roster: Roster, breakers: MemberBreakers) {
    this.roster = roster
    this.breakers = breakers
  }

  /** To be told before a local fault is counted against a slot. Faults from before `since` are not taken back. */
  note(slot: number, duration: number, now: number, since: number): void {
    const { accounts, roster } = this
    let account = accounts.get(slot)
    if (account !== undefined) trim(account, since)
    if (account === undefined || account.times.length === 0 || account.life !== roster.life(slot)) {
      account = this.open(slot)
      accounts.set(slot, account)
    }
    account.times.push(now)
    account.durations.push(duration)
  }

  /** To be told of any other failure that counts against a slot. */
  noteOther(slot: number, now: number): void {
    this.accounts.get(slot)?.others.push(now)
  }

  /** A slot's breaker was opened by a result. */
  noteOpening(slot: number, epoch: number): void {
    const account = this.accounts.get(slot)
    if (account !== undefined) account.opened = epoch
  }

  /** It was the members' own fault: nothing is taken back. Each fault is told to `record`. */
  confirm(record: (slot: number, duration: number) => void): void {
    const { accounts, roster } = this
    for (const [slot, { life, durations }] of accounts)
      if (life === roster.life(slot)) for (const duration of durations) record(slot, duration)
    accounts.clear()
  }

  /** It was the network's: all since then is taken back. Gives the slots that it concerns. */
  takeBack(since: number): number[] {
    const slots: number[] = []
    for (const [slot, account] of this.accounts) {
      trim(account, since)
      if (account.times.length === 0 || account.life !== this.roster.life(slot)) continue
      slots.push(slot)
      const breaker = this.breakers.find(slot)
      this.roster.ledger.fail(slot, -account.times.length)
      if (breaker === undefined) this.breakers.takeBack(slot, account.lastFailure)
      else if (restore(breaker, account))
        this.roster.ledger.open(slot, account.opens - this.roster.ledger.opens(slot))
    }
    this.accounts.clear()
    return slots
  }

  private open(slot: number): Account {
    const { breakers, roster } = this
    const breaker = breakers.find(slot)
    const { phase = 'closed', epoch = 0, failures = 0, openings = 0, openFor = 0 } = breaker ?? {}
    return {
      life: roster.life(slot),
      phase,
      epoch,
      log: breaker === undefined ? breakers.heldLog(slot) : logOf(breaker),
      failures,
      openings,
      openFor,
      closedAt: breaker?.closedAt ?? Number.NEGATIVE_INFINITY,
      lastFailure: breaker === undefined ? breakers.lastFailure(slot) : breaker.lastFailureTime,
      opens: roster.ledger.opens(slot),
      times: [],
      durations: [],
      others: [],
      opened: -1,
    }
  }
}

/** Forgets the faults from before a time. */
function trim({ times, durations }: Account, since: number): void {
  while ((times[0] as number) < since) {
    times.shift()
    durations.shift()
  }
}

const logOf = ({ window, settings }: CircuitBreaker): number[] =>
  window?.save(settings.clock.now(), (time) => time) ?? []

function restore(breaker: CircuitBreaker, account: Account): boolean {
  const { settings } = breaker
  if (breaker.epoch === account.epoch) {
    breaker.lastFailureTime = account.lastFailure
    breaker.window = Window.of(settings, without(logOf(breaker), account.times))
    return false
  }
  // What somebody did by hand, or what a test has changed since, is left alone.
  if (breaker.epoch !== account.opened) return false
  if (account.phase === 'closed') {
    const log = [...account.log, ...account.others.flatMap((time) => [time, 1, 1, 0])]
    if (settings.windowType !== 'rate' && log.length / 4 >= settings.failureThreshold) return false
    breaker.reset()
    breaker.window = Window.of(settings, log)
    breaker.closedAt = account.closedAt
  } else {
    breaker.failures = account.failures
    breaker.until = settings.clock.now()
  }
  breaker.lastFailureTime = account.lastFailure
  breaker.openings = account.openings
  breaker.openFor = account.openFor
  return true
}

/** A window's log without the failures at these times: the entry that a failure is in began at its time or before. */
function without(log: readonly number[], times: readonly number[]): number[] {
  const left = [...log]
  for (const time of times) {
    let at = left.length - 4
    while (at >= 0 && ((left[at] as number) > time || left[at + 2] === 0)) at -= 4
    if (at < 0) continue
    ;(left[at + 1] as number) -= 1
    ;(left[at + 2] as number) -= 1
  }
  return left.filter((_, i) => (left[i - (i % 4) + 1] as number) > 0)
}
