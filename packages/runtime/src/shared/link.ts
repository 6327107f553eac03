import type { CircuitBreaker } from 'holdfast'
import { type BreakerOutcome, type PermitState, runOutsideContext } from 'holdfast/internal'
import { type Counted, Counts } from './counts.js'
import { Lately } from './lately.js'
import { nextOpening, openingOf } from './opening.js'
import { parseView, type View } from './replies.js'
import { CLOSE, COUNT, EXTEND, GRANT, HELLO, keysOf, OPEN, ORDER, READ, SETTLE, VOTE } from './scripts.js'
import { type ShareOptions, settingsText } from './settings.js'
import { timer } from './timer.js'
import { Votes } from './votes.js'
import type { Script, Wire } from './wire.js'

type BreakerLink = NonNullable<CircuitBreaker['coordinator']>
type Order = Parameters<BreakerLink['onCommand']>[0]

/** How long leave for a test waits for a caller. */
const HOLD = 1000
/** How much before its time leave is asked for, so that the first caller after it need not wait for an answer. */
const AHEAD = 150
/** How soon to come back while leave is being asked for, and the longest to wait before asking again. */
const SOON = 20
const LATER = 1000
/** Epochs are never less than the time of Redis, in tenths of a millisecond, and hardly ever more. */
const EPOCHS_PER_MS = 10
const MAX_EPOCH_AHEAD_MS = 86_400_000

export interface LinkParts {
  readonly wire: Wire
  readonly node: string
  /** How many nodes live, as far as this one has heard. */
  live(): number
  /** How many nodes live now: more than there can be where that is not sure, undefined where Redis is lost. */
  count(): Promise<number | undefined>
  /** This node brought the fleet's breaker to where it stands, or found it there. */
  stands(link: SharedBreaker): void
  /** Redis knows the settings that another node has or had. */
  found(link: SharedBreaker, settings: string, node: string): Promise<void>
  /** It stands open since that wall time, by what the fleet says. */
  openSince(id: string, at: number): void
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

/** What a breaker has to do with others of its name on other nodes. Calls never wait for any of it. */
export class SharedBreaker implements BreakerLink {
  isProbeWanted = false
  /** The last epoch of the fleet that is known here. */
  epoch = 0
  /** Whether the fleet has it open. */
  fleetOpen = false
  /** Wall time of the fleet's opening. */
  private openedAt = 0
  /** Nodes that live and have other settings; while there are any it stands alone. */
  readonly strangers = new Set<string>()
  readonly breaker: CircuitBreaker
  options: ShareOptions
  settings: string
  /** Results that were counted. */
  readonly lately: Lately
  private readonly parts: LinkParts
  private lease: { token: string; from: number; ends: number } | undefined = undefined
  private asking = false
  private waitUntil = 0
  private readonly tokens = new WeakMap<PermitState, string>()
  private ending: string | undefined = undefined
  private order: Order | undefined = undefined
  private ahead: unknown = undefined
  private readonly counts: Counts
  private voting: Votes | undefined = undefined
  /** Whether a change was published that has not been read yet, and whether it is being read. */
  private isOutdated = false
  private isReading = false
  private closed = false

  constructor(breaker: CircuitBreaker, options: ShareOptions, parts: LinkParts, calls = 0) {
    this.breaker = breaker
    this.options = options
    this.parts = parts
    this.lately = new Lately(calls)
    this.settings = settingsText(breaker, options)
    this.counts = new Counts(breaker, (counted) => this.sendCounts(counted))
  }

  /** Whether it decides with others. */
  get together(): boolean {
    return this.parts.wire.up && this.strangers.size === 0 && !this.closed
  }

  probeAllowedAt(_lease: number, now: number): number {
    if (!this.together || !this.fleetOpen) return now
    const { lease } = this
    if (lease !== undefined && now < lease.ends) return Math.max(now, lease.from)
    if (now < this.waitUntil) return this.waitUntil
    this.ask()
    return now + SOON
  }

  onProbeStarted(pass: PermitState, lease: number): void {
    const held = this.lease
    if (held === undefined || !this.together || !this.fleetOpen) return
    this.lease = undefined
    this.tokens.set(pass, held.token)
    this.tell(EXTEND, [held.token, Math.ceil(lease)], (view) => {
      // Another was given leave meanwhile: what this one finds out is not awaited any more.
      if (view.gone && view.epoch === this.epoch && this.breaker.currentState === 'half_open')
        this.stepBack(view)
    })
  }

  onProbeEnded(pass: PermitState, verdict: BreakerOutcome): void {
    const token = this.tokens.get(pass)
    this.tokens.delete(pass)
    if (token === undefined) return
    if (verdict === undefined) this.settle(token, 'nothing')
    else this.ending = token
  }

  onResult(phase: CircuitBreaker['currentState'], failed: boolean): void {
    this.lately.calls++
    const { breaker, ending } = this
    if (phase === 'half_open') {
      this.ending = undefined
      if (ending !== undefined) this.settle(ending, failed ? 'failure' : 'success')
      else if (breaker.currentState !== 'half_open') this.changedAlone()
      return
    }
    if (this.options.share === 'counts') this.counts.add(failed)
    if (failed && breaker.currentState === 'open') this.opened()
  }

  onCommand(order: Order): void {
    this.order = order
    this.lease = undefined
    this.carryOut()
  }

  /** Its own opinion opened it. */
  opened(): void {
    if (!this.together) {
      // What was found out since is newer than an order that nobody could be told of.
      if (this.order === 'reset') this.order = undefined
      return
    }
    if (this.options.share !== 'quorum') this.tell(OPEN, openingOf(this.breaker))
    else runOutsideContext(() => void this.votes.poll())
  }

  /** Asks the others once more, if it asked them before it could be sure how many there are. */
  pollAgain(): void {
    this.voting?.pollAgain()
  }

  /** Answers those who ask whether it fails. */
  vote(round: string): void {
    if (this.options.share === 'quorum') this.votes.answer(round)
  }

  /**
   * Another node published that the fleet's breaker has changed. A message is only a hint, because whoever reaches Redis can
   * publish one: what Redis holds is read and taken over.
   */
  onChangePublished({ node, epoch, state }: View): void {
    if (epoch === this.epoch && state === 'half_open' && this.waitUntil > 0) this.tryNow()
    // What this node changed itself is in the answer that it gets.
    if (epoch <= this.epoch || node === this.parts.node || this.strangers.size > 0) return
    this.isOutdated = true
    if (!this.isReading) void this.readFleetState()
  }

  /** Reads where the fleet stands, and once more where a change was published meanwhile. */
  private async readFleetState(): Promise<void> {
    this.isReading = true
    while (this.isOutdated && this.together) {
      this.isOutdated = false
      const view = await this.run(READ, [])
      if (view !== undefined) this.adopt(view)
    }
    this.isReading = false
  }

  /** Takes over what the fleet says, if that is news. */
  adopt(view: View): void {
    const { breaker, parts } = this
    if (view.epoch === this.epoch && view.state === 'half_open' && this.waitUntil > 0) this.tryNow()
    if (view.epoch <= this.epoch || this.strangers.size > 0) return
    const { clock } = breaker.settings
    this.epoch = view.epoch
    this.lease = undefined
    this.waitUntil = 0
    this.fleetOpen = view.state !== 'closed'
    const there = this.fleetOpen ? breaker.currentState === 'open' : breaker.currentState === 'closed'
    // One that brought it there itself is there already.
    if (view.node !== parts.node || !there || view.off !== breaker.isDisabled) {
      breaker.applyRemoteState({ ...view, state: this.fleetOpen ? 'open' : 'closed' })
      this.openedSince(view)
    } else this.openedAt = breaker.lastStateChange ?? clock.wall()
    if (view.node === parts.node) parts.stands(this)
    clock.clearTimer(this.ahead)
    this.isProbeWanted = false
    if (!this.fleetOpen) return
    const wait = Math.max(0, view.left - AHEAD)
    this.ahead = timer(clock, () => void (this.isProbeWanted && this.ask()), wait)
  }

  /** Says what is known here, learns what the fleet knows, and brings the two together. */
  async hello(): Promise<void> {
    const { breaker, parts } = this
    const { wire, node } = parts
    const left = Math.max(0, breaker.openUntil - breaker.settings.clock.now())
    const { openDuration, consecutiveOpens, failures, isDisabled } = breaker
    const known = this.fleetOpen ? ['open', left] : ['closed', 0]
    const age = this.fleetOpen ? Math.max(0, breaker.settings.clock.wall() - this.openedAt) : 0
    const args = [this.settings, ...known, openDuration, consecutiveOpens, failures, isDisabled ? 1 : 0, age]
    const view = await this.run(HELLO, args)
    if (view === undefined) return
    if (view.by !== node) await parts.found(this, view.settings ?? '', view.by ?? '')
    if (this.closed) return
    if (this.order !== undefined) this.carryOut()
    else if (view.epoch > this.epoch) this.adopt(view)
    else if (wire.up) this.changedAlone()
    if (this.fleetOpen) parts.stands(this)
  }

  close(): void {
    const { clock } = this.breaker.settings
    this.closed = true
    clock.clearTimer(this.ahead)
    this.counts.close()
    if (this.breaker.coordinator === this) this.breaker.coordinator = undefined
  }

  /** It changed without the fleet: brings the fleet what it found out, unless that knows better. */
  private changedAlone(): void {
    const { currentState } = this.breaker
    if (!this.together) {
      // A test has found out more since than the order knew that nobody could be told of.
      if (currentState === 'closed' && this.order === 'trip') this.order = undefined
      return
    }
    if (currentState === 'closed' && this.fleetOpen) this.tell(CLOSE, [])
    else if (currentState === 'open' && this.fleetOpen) return
    else if (currentState !== 'closed' && !this.fleetOpen) this.opened()
  }

  /** The fleet's breaker opened when it did, and not when this node came to hear of it. */
  private openedSince({ age }: View): void {
    const { breaker, parts } = this
    this.openedAt = breaker.settings.clock.wall() - (age ?? 0)
    if (age === undefined || breaker.currentState !== 'open') return
    breaker.lastStateChange = this.openedAt
    parts.openSince(breaker.id, this.openedAt)
  }

  /** Made with the first vote: most breakers never have one. */
  private get votes(): Votes {
    this.voting ??= new Votes({
      breaker: this.breaker,
      quorum: () => this.options.quorum,
      calledLately: () => this.lately.count >= this.options.minimumCalls,
      undecided: () => this.together && !this.fleetOpen,
      live: () => this.parts.live(),
      count: () => this.parts.count(),
      cast: (args) => this.tell(VOTE, args),
    })
    return this.voting
  }

  private ask(): void {
    if (this.asking || !this.together || !this.fleetOpen || this.lease !== undefined) return
    const { breaker } = this
    const { clock, halfOpenMax } = breaker.settings
    const sentAt = clock.now()
    this.asking = true
    const answered = (view: View | undefined) => {
      this.asking = false
      const now = clock.now()
      if (view === undefined || !this.fleetOpen) return this.tryNow()
      if (view.state === 'closed' || (view.token === undefined && view.wait === undefined))
        return this.adopt(view)
      if (view.epoch < this.epoch) return
      this.epoch = view.epoch
      if (view.token !== undefined) {
        const from = now + (view.early ?? 0)
        const lease = { token: view.token, from, ends: sentAt + (view.early ?? 0) + HOLD }
        this.lease = lease
        this.waitUntil = 0
        if (breaker.currentState !== 'closed') breaker.scheduleProbe(from)
        timer(clock, () => this.giveBack(lease), lease.ends - now)
        return
      }
      this.waitUntil = now + Math.min(LATER, view.wait ?? 0)
      if (breaker.currentState !== 'closed') breaker.scheduleProbe(this.waitUntil)
    }
    this.request(GRANT, [halfOpenMax, HOLD, AHEAD], answered)
  }

  /** Nobody came to make the test. */
  private giveBack(lease: object): void {
    const held = this.lease
    if (held !== lease) return
    this.lease = undefined
    this.settle(held.token, 'nothing')
  }

  private tryNow(): void {
    const { breaker } = this
    const now = breaker.settings.clock.now()
    this.waitUntil = 0
    if (breaker.currentState !== 'closed' && breaker.openUntil > now && this.fleetOpen)
      breaker.scheduleProbe(now)
  }

  private stepBack(view: View): void {
    this.breaker.applyRemoteState({ ...view, state: 'open', left: 0 })
  }

  private settle(token: string, outcome: 'success' | 'failure' | 'nothing'): void {
    const { successThreshold } = this.breaker.settings
    this.tell(SETTLE, [token, outcome, successThreshold, ...openingOf(this.breaker)], (view) => {
      // The lease had ended: what was found out here does not hold for the fleet, which is still testing.
      if (view.gone && view.epoch === this.epoch && this.fleetOpen && this.breaker.currentState === 'closed')
        this.stepBack(view)
    })
  }

  private carryOut(): void {
    const { order } = this
    if (order === undefined || !this.together) return
    this.request(ORDER, [order, ...openingOf(this.breaker)], (view) => {
      if (view === undefined) return
      if (this.order === order) this.order = undefined
      this.adopt(view)
    })
  }

  private sendCounts({ calls, failures, succeeded }: Counted): void {
    const { windowDuration, failureThreshold, failureRate = 0, minimumCalls } = this.breaker.settings
    if (!this.together || this.fleetOpen) return
    const [openFor = 0, openings = 0] = nextOpening(this.breaker)
    const settings = [windowDuration, failureThreshold, failureRate, minimumCalls]
    this.tell(COUNT, [calls, failures, ...settings, succeeded ? 1 : 0, openFor, openings])
  }

  private tell(script: Script, args: (string | number)[], then?: (view: View) => void): void {
    if (!this.together) return
    this.request(script, args, (view) => {
      if (view === undefined) return
      then?.(view)
      this.adopt(view)
    })
  }

  /** Runs a script and hands its answer on, outside the async context of the call that brought it about. */
  private request(
    script: Script,
    args: readonly (string | number)[],
    answered: (view: View | undefined) => void,
  ): void {
    runOutsideContext(() => void this.run(script, args).then(answered))
  }

  /** What a script answers; undefined where Redis is lost, which is told elsewhere. */
  private async run(script: Script, args: readonly (string | number)[]): Promise<View | undefined> {
    const { wire, node } = this.parts
    const { id } = this.breaker
    let reply: unknown
    try {
      reply = await wire.run(script, keysOf(id), [node, id, this.epoch, ...args])
    } catch {
      return undefined
    }
    const parsed = parseView(reply)
    if ('problem' in parsed) {
      this.parts.onInvalidReply(parsed.problem)
      return undefined
    }
    const { value: view } = parsed
    // An epoch that is ahead of the time of Redis counts as none there too: else nothing would ever be news.
    if (view.now !== undefined && this.epoch > (view.now + MAX_EPOCH_AHEAD_MS) * EPOCHS_PER_MS) this.epoch = 0
    return view
  }
}
