import type { BreakerEvent } from '../breaker/breaker.js'
import { counts } from '../breaker/counts.js'
import type { Verdict } from '../breaker/permit.js'
import type { Availability } from './availability.js'
import type { MemberBreakers } from './breakers.js'
import type { PoolEvent } from './events.js'
import { isRateLimit, MemberFaults, statusOf } from './faults.js'
import type { MemberStats } from './ledger.js'
import type { PoolLink } from './link.js'
import { Blame } from './network/blame.js'
import { isLocalFault, provesNetwork } from './network/faults.js'
import { Network } from './network/network.js'
import type { PoolSettings } from './options.js'
import type { PickOutcome } from './protocol.js'
import { Averages } from './results/averages.js'
import { Results } from './results/results.js'
import type { Roster } from './roster.js'
import type { Taken } from './taken.js'

/** What the outcome of an attempt means for its member, for others of the call, and for the network. */
export class Judge<T> {
  averages: Averages | undefined = undefined
  results: Results | undefined = undefined
  availability!: Availability
  /** The way to the same pool elsewhere; undefined for one that stands alone. */
  link: PoolLink | undefined = undefined
  private readonly network: Network
  private readonly blame: Blame
  private faults!: MemberFaults<T>
  private readonly settings: PoolSettings<T>
  private readonly roster: Roster<T>
  private readonly breakers: MemberBreakers
  private readonly emit: (event: PoolEvent) => void
  /** The slot whose breaker is being told a result. */
  private counting = -1

  constructor(
    settings: PoolSettings<T>,
    roster: Roster<T>,
    breakers: MemberBreakers,
    emit: (event: PoolEvent) => void,
  ) {
    const { breaker } = settings
    this.settings = settings
    this.roster = roster
    this.breakers = breakers
    this.emit = emit
    this.network = roster.keep(new Network(breaker.windowDuration))
    this.blame = new Blame(roster, breakers)
    this.reshape()
  }

  /** Goes by the settings as they are now. What other strategies chose by is let go of. */
  reshape(): void {
    const { settings, roster } = this
    const { strategy } = settings
    const [byLatency, byScore] = [strategy === 'least_latency', strategy === 'score']
    if (!byLatency) roster.drop(this.averages)
    if (!byScore) roster.drop(this.results)
    this.averages = byLatency ? (this.averages ?? roster.keep(new Averages())) : undefined
    this.results = byScore ? (this.results ?? roster.keep(new Results())) : undefined
    this.faults = new MemberFaults(settings)
  }

  /** Takes the outcome of an attempt, once; tells whether it speaks of the member and not of the request. */
  settle(taken: Taken<T>, outcome: PickOutcome, picks: readonly Taken<T>[]): boolean {
    if (taken.progress !== 'running') return false
    const { known, duration } = outcome
    const status = statusOf(outcome)
    const limited = isRateLimit(known, status)
    const faulty = this.faults.includes(taken.member, outcome, status)
    const opinion = limited ? undefined : this.verdictOf(taken.slot, outcome)
    const accused = faulty && !limited && opinion !== 'failure'
    const answered = !accused && !limited && opinion !== 'failure' && (!outcome.threw || status !== undefined)
    taken.progress = accused ? 'accused' : answered ? 'answered' : 'settled'
    taken.duration = duration
    const local = isLocalFault(outcome)
    const verdict = this.look(taken, outcome, accused ? undefined : opinion, local)
    // Whoever hears of a change may remove the member, so that it is looked for each time.
    if (this.isAlive(taken)) this.count(taken, verdict, outcome.at)
    if (this.isAlive(taken)) this.write(taken, verdict, local)
    if (limited && this.isAlive(taken)) this.leave(taken, known?.retryAfter)
    if (picks.length > 1) this.compare(taken, picks)
    return faulty
  }

  /** Whether the network is down. It goes up by itself in time. */
  isDown(now: number): boolean {
    if (this.network.isOver(now)) this.networkUp()
    return this.network.down
  }

  /** Whether a call may go out. */
  admits(now: number): boolean {
    return !this.isDown(now) || this.network.tests(now)
  }

  /** Milliseconds until a call may go out to see whether the network is back. */
  retryAfter(now: number): number {
    return this.network.retryAfter(now)
  }

  /** A breaker has changed its state. */
  hear(slot: number, { toState }: BreakerEvent): void {
    if (toState !== 'open') return
    this.roster.ledger.open(slot, 1)
    if (slot === this.counting) this.blame.noteOpening(slot, this.breakers.get(slot).epoch)
  }

  stats(slot: number, id: string): MemberStats {
    const { roster, averages, results } = this
    const latency = averages?.mean(slot)
    return {
      ...roster.ledger.stats(slot, id),
      ...(results === undefined ? undefined : { score: results.score(slot, results.most) }),
      ...(latency === undefined ? undefined : { latency }),
    }
  }

  /** Leaves a member alone for so many milliseconds; tells whether that is longer than it would have been. */
  rest(slot: number, retryAfter: number): boolean {
    const { clock } = this.settings
    if (!(retryAfter > 0) || !this.availability.rest(slot, clock.now() + retryAfter)) return false
    const memberId = this.roster.member(slot).id
    this.emit({ type: 'member_changed', change: 'rested', memberId, timestamp: clock.wall(), retryAfter })
    return true
  }

  forget(slot: number): void {
    this.roster.ledger.forget(slot)
    this.averages?.forget(slot)
    this.results?.forget(slot)
    this.network.forget(slot)
  }

  /** Whether the member that was taken is still in the pool. */
  private isAlive({ slot, life }: Taken<T>): boolean {
    return life === this.roster.life(slot)
  }

  /** What the member's breaker makes of an outcome. */
  private verdictOf(slot: number, { threw, result, known, verdict }: PickOutcome): Verdict {
    const settings = this.breakers.settingsOf(slot)
    if (settings.counted === undefined || known === undefined) return verdict
    if (known.kind === 'cancelled') return verdict
    const failed = (threw || known.httpStatus !== undefined) && counts(settings, result, known)
    return failed ? 'failure' : threw ? undefined : 'success'
  }

  /** Tells the breaker, or the columns that stand for it. */
  private count(taken: Taken<T>, verdict: Verdict, at: number | undefined): void {
    const { breakers, availability } = this
    const { slot } = taken
    if (taken.admitted < 0) return
    const breaker = breakers.find(slot)
    this.counting = slot
    if (breaker !== undefined) {
      breaker.settle(taken, verdict, at)
      if (breaker.phase !== 'closed') availability.look(slot)
    } else if (verdict === 'failure') breakers.failed(slot)
    else if (verdict === 'success') breakers.succeeded(slot)
    this.counting = -1
  }

  private write({ slot, at, duration }: Taken<T>, verdict: Verdict, local: boolean): void {
    const failed = verdict === undefined ? undefined : verdict === 'failure'
    this.roster.ledger.attempt(slot, failed, duration)
    // A fault of the network may yet be taken back; until that is known it changes no choice.
    if (failed !== undefined && !local) this.remember(slot, failed, duration, at + duration)
  }

  private remember(slot: number, failed: boolean, duration: number, now: number): void {
    this.averages?.add(slot, failed, duration, now)
    this.results?.add(slot, failed, duration)
  }

  /** What an outcome says of the network. Gives the verdict on the member that is left then. */
  private look(taken: Taken<T>, outcome: PickOutcome, verdict: Verdict, local: boolean): Verdict {
    const { network, blame, settings } = this
    const { slot, at, duration } = taken
    const alive = this.isAlive(taken)
    if (local) return alive && this.isDownNow(taken, verdict) ? undefined : verdict
    if (alive && outcome.verdict !== undefined) network.use(slot, at + duration)
    if (!network.suspect && !network.down) return verdict
    if (provesNetwork(outcome)) this.networkUp()
    else if (alive && verdict === 'failure') blame.noteOther(slot, settings.clock.now())
    return verdict
  }

  /** The attempt met a local fault. Tells whether that is the network's and not the member's. */
  private isDownNow({ slot, duration }: Taken<T>, verdict: Verdict): boolean {
    const { network, blame, settings, availability } = this
    const now = settings.clock.now()
    const since = now - settings.breaker.windowDuration
    const wasDown = network.down
    const down = network.fault(slot, now)
    if (!down && verdict === 'failure') blame.note(slot, duration, now, since)
    if (down && !wasDown) {
      for (const other of blame.takeBack(since)) availability.changed(other)
      this.emit({ type: 'network_changed', down, timestamp: settings.clock.wall() })
    }
    return down
  }

  private networkUp(): void {
    const { network, blame, settings } = this
    const { down } = network
    const { clock } = settings
    network.up()
    blame.confirm((slot, duration) => this.remember(slot, true, duration, clock.now()))
    if (down) this.emit({ type: 'network_changed', down: false, timestamp: clock.wall() })
  }

  /** The member asked to be left alone. */
  private leave({ slot, member }: Taken<T>, hint: number | undefined): void {
    const retryAfter = hint ?? this.breakers.settingsOf(slot).timeoutDuration
    if (this.rest(slot, retryAfter)) this.link?.rested(member.id, retryAfter)
  }

  /** An answer from another member proves that those who are accused were to blame themselves. */
  private compare(taken: Taken<T>, picks: readonly Taken<T>[]): void {
    const { slot, progress } = taken
    for (const other of picks) {
      if (other.slot === slot && other.life === taken.life) continue
      if (progress === 'answered' && other.progress === 'accused') this.convict(other)
      else if (progress === 'accused' && other.progress === 'answered') this.convict(taken)
    }
  }

  private convict(taken: Taken<T>): void {
    const { breakers, availability, settings } = this
    const { slot, admitted, duration } = taken
    taken.progress = 'settled'
    if (!this.isAlive(taken)) return
    this.roster.ledger.fail(slot, 1)
    this.remember(slot, true, duration, settings.clock.now())
    const breaker = breakers.find(slot)
    if (breaker === undefined) breakers.failed(slot)
    else if (breaker.epoch === admitted) {
      breaker.result(true, false)
      availability.look(slot)
    }
  }
}
