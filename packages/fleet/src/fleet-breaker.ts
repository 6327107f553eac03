import type { CircuitBreaker } from 'holdfast'
import { type BreakerOutcome, type PermitState, runOutsideContext } from 'holdfast/internal'
import {
  breakerKeys,
  CLOSE,
  COMMAND,
  COUNT,
  EXTEND_PROBE,
  GRANT_PROBE,
  OPEN,
  READ,
  SETTLE_PROBE,
  SYNC,
  VOTE,
} from './breaker-scripts.js'
import { CountBatcher, type CountedResults } from './count-batcher.js'
import { currentOpenState, nextOpenState } from './open-state.js'
import { QuorumVote } from './quorum-vote.js'
import { RecentCallCount } from './recent-call-count.js'
import type { RedisConnection, RedisScript } from './redis-connection.js'
import { type FleetBreakerState, parseBreakerState } from './replies.js'
import { type ShareOptions, serializeSettings } from './shared-settings.js'
import { setUnrefTimer } from './unref-timer.js'

type BreakerLink = NonNullable<CircuitBreaker['coordinator']>
type OperatorCommand = Parameters<BreakerLink['onCommand']>[0]

/** How long leave for a test waits for a caller. */
const PERMIT_HOLD_MS = 1000
/** How much before its time leave is asked for, so that the first caller after it need not wait for an answer. */
const REQUEST_AHEAD_MS = 150
/** How soon to come back while leave is being asked for, and the longest to wait before asking again. */
const RETRY_SOON_MS = 20
const MAX_RETRY_MS = 1000
/** Epochs are never less than the time of Redis, in tenths of a millisecond, and hardly ever more. */
const EPOCHS_PER_MS = 10
const MAX_EPOCH_AHEAD_MS = 86_400_000

export interface FleetBreakerParts {
  readonly redis: RedisConnection
  readonly node: string
  /** How many nodes live, as far as this one has heard. */
  liveNodes(): number
  /** How many nodes live now: more than there can be where that is not sure, undefined where Redis is lost. */
  countNodes(): Promise<number | undefined>
  /** This node brought the fleet's breaker to where it stands, or found it there. */
  onSynced(breakerLink: FleetBreaker): void
  /** Redis knows the settings that another node has or had. */
  onSettingsFound(breakerLink: FleetBreaker, settings: string, node: string): Promise<void>
  /** It stands open since that wall time, by what the fleet says. */
  onOpenSince(id: string, at: number): void
  /** Redis answered what no script of this release answers. */
  onInvalidReply(problem: string): void
}

/** What a breaker has to do with others of its name on other nodes. Calls never wait for any of it. */
export class FleetBreaker implements BreakerLink {
  isProbeWanted = false
  /** The last epoch of the fleet that is known here. */
  epoch = 0
  /** Whether the fleet has it open. */
  isFleetOpen = false
  /** Wall time of the fleet's opening. */
  private openedAt = 0
  /** Nodes that live and have other settings; while there are any it stands alone. */
  readonly mismatchedNodes = new Set<string>()
  readonly breaker: CircuitBreaker
  options: ShareOptions
  settings: string
  /** Results that were counted. */
  readonly recentCalls: RecentCallCount
  private readonly parts: FleetBreakerParts
  private probeLease: { token: string; from: number; ends: number } | undefined = undefined
  private isAsking = false
  private waitUntil = 0
  private readonly tokenByPermit = new WeakMap<PermitState, string>()
  private endingToken: string | undefined = undefined
  private pendingCommand: OperatorCommand | undefined = undefined
  private requestTimer: unknown = undefined
  private readonly counts: CountBatcher
  private vote: QuorumVote | undefined = undefined
  /** Whether a change was published that has not been read yet, and whether it is being read. */
  private isOutdated = false
  private isReading = false
  private isClosed = false

  constructor(breaker: CircuitBreaker, options: ShareOptions, parts: FleetBreakerParts, calls = 0) {
    this.breaker = breaker
    this.options = options
    this.parts = parts
    this.recentCalls = new RecentCallCount(calls)
    this.settings = serializeSettings(breaker, options)
    this.counts = new CountBatcher(breaker, (counted) => this.sendCounts(counted))
  }

  /** Whether it decides with others. */
  get isShared(): boolean {
    return this.parts.redis.isUp && this.mismatchedNodes.size === 0 && !this.isClosed
  }

  probeAllowedAt(_lease: number, now: number): number {
    if (!this.isShared || !this.isFleetOpen) return now
    const { probeLease } = this
    if (probeLease !== undefined && now < probeLease.ends) return Math.max(now, probeLease.from)
    if (now < this.waitUntil) return this.waitUntil
    this.requestProbe()
    return now + RETRY_SOON_MS
  }

  onProbeStarted(permit: PermitState, lease: number): void {
    const currentLease = this.probeLease
    if (currentLease === undefined || !this.isShared || !this.isFleetOpen) return
    this.probeLease = undefined
    this.tokenByPermit.set(permit, currentLease.token)
    this.runAndApply(EXTEND_PROBE, [currentLease.token, Math.ceil(lease)], (view) => {
      // Another was given leave meanwhile: what this one finds out is not awaited any more.
      if (view.gone && view.epoch === this.epoch && this.breaker.currentState === 'half_open')
        this.revertToOpen(view)
    })
  }

  onProbeEnded(permit: PermitState, outcome: BreakerOutcome): void {
    const token = this.tokenByPermit.get(permit)
    this.tokenByPermit.delete(permit)
    if (token === undefined) return
    if (outcome === undefined) this.reportProbeResult(token, 'nothing')
    else this.endingToken = token
  }

  onResult(state: CircuitBreaker['currentState'], failed: boolean): void {
    this.recentCalls.totalCalls++
    const { breaker, endingToken } = this
    if (state === 'half_open') {
      this.endingToken = undefined
      if (endingToken !== undefined) this.reportProbeResult(endingToken, failed ? 'failure' : 'success')
      else if (breaker.currentState !== 'half_open') this.reportLocalChange()
      return
    }
    if (this.options.share === 'counts') this.counts.add(failed)
    if (failed && breaker.currentState === 'open') this.onLocalOpen()
  }

  onCommand(command: OperatorCommand): void {
    this.pendingCommand = command
    this.probeLease = undefined
    this.sendCommand()
  }

  /** Its own opinion opened it. */
  onLocalOpen(): void {
    if (!this.isShared) {
      // What was found out since is newer than an order that nobody could be told of.
      if (this.pendingCommand === 'reset') this.pendingCommand = undefined
      return
    }
    if (this.options.share !== 'quorum') this.runAndApply(OPEN, currentOpenState(this.breaker))
    else runOutsideContext(() => void this.quorumVote.poll())
  }

  /** Asks the others once more, if it asked them before it could be sure how many there are. */
  repeatPoll(): void {
    this.vote?.repeatPoll()
  }

  /** Answers those who ask whether it fails. */
  answerVote(round: string): void {
    if (this.options.share === 'quorum') this.quorumVote.answerPoll(round)
  }

  /**
   * Another node published that the fleet's breaker has changed. A message is only a hint, because whoever reaches Redis can
   * publish one: what Redis holds is read and taken over.
   */
  onChangePublished({ node, epoch, state }: FleetBreakerState): void {
    if (epoch === this.epoch && state === 'half_open' && this.waitUntil > 0) this.probeNow()
    // What this node changed itself is in the answer that it gets.
    if (epoch <= this.epoch || node === this.parts.node || this.mismatchedNodes.size > 0) return
    this.isOutdated = true
    if (!this.isReading) void this.readFleetState()
  }

  /** Reads where the fleet stands, and once more where a change was published meanwhile. */
  private async readFleetState(): Promise<void> {
    this.isReading = true
    while (this.isOutdated && this.isShared) {
      this.isOutdated = false
      const view = await this.runScript(READ, [])
      if (view !== undefined) this.applyRemote(view)
    }
    this.isReading = false
  }

  /** Takes over what the fleet says, if that is news. */
  applyRemote(view: FleetBreakerState): void {
    const { breaker, parts } = this
    if (view.epoch === this.epoch && view.state === 'half_open' && this.waitUntil > 0) this.probeNow()
    if (view.epoch <= this.epoch || this.mismatchedNodes.size > 0) return
    const { clock } = breaker.settings
    this.epoch = view.epoch
    this.probeLease = undefined
    this.waitUntil = 0
    this.isFleetOpen = view.state !== 'closed'
    const there = this.isFleetOpen ? breaker.currentState === 'open' : breaker.currentState === 'closed'
    // One that brought it there itself is there already.
    if (view.node !== parts.node || !there || view.off !== breaker.isDisabled) {
      breaker.applyRemoteState({ ...view, state: this.isFleetOpen ? 'open' : 'closed' })
      this.reportOpenSince(view)
    } else this.openedAt = breaker.lastStateChange ?? clock.wall()
    if (view.node === parts.node) parts.onSynced(this)
    clock.clearTimer(this.requestTimer)
    this.isProbeWanted = false
    if (!this.isFleetOpen) return
    const wait = Math.max(0, view.left - REQUEST_AHEAD_MS)
    this.requestTimer = setUnrefTimer(clock, () => void (this.isProbeWanted && this.requestProbe()), wait)
  }

  /** Says what is known here, learns what the fleet knows, and brings the two together. */
  async sync(): Promise<void> {
    const { breaker, parts } = this
    const { redis, node } = parts
    const left = Math.max(0, breaker.openUntil - breaker.settings.clock.now())
    const { openDuration, consecutiveOpens, failures, isDisabled } = breaker
    const known = this.isFleetOpen ? ['open', left] : ['closed', 0]
    const age = this.isFleetOpen ? Math.max(0, breaker.settings.clock.wall() - this.openedAt) : 0
    const args = [this.settings, ...known, openDuration, consecutiveOpens, failures, isDisabled ? 1 : 0, age]
    const view = await this.runScript(SYNC, args)
    if (view === undefined) return
    if (view.by !== node) await parts.onSettingsFound(this, view.settings ?? '', view.by ?? '')
    if (this.isClosed) return
    if (this.pendingCommand !== undefined) this.sendCommand()
    else if (view.epoch > this.epoch) this.applyRemote(view)
    else if (redis.isUp) this.reportLocalChange()
    if (this.isFleetOpen) parts.onSynced(this)
  }

  close(): void {
    const { clock } = this.breaker.settings
    this.isClosed = true
    clock.clearTimer(this.requestTimer)
    this.counts.close()
    if (this.breaker.coordinator === this) this.breaker.coordinator = undefined
  }

  /** It changed without the fleet: brings the fleet what it found out, unless that knows better. */
  private reportLocalChange(): void {
    const { currentState } = this.breaker
    if (!this.isShared) {
      // A test has found out more since than the order knew that nobody could be told of.
      if (currentState === 'closed' && this.pendingCommand === 'trip') this.pendingCommand = undefined
      return
    }
    if (currentState === 'closed' && this.isFleetOpen) this.runAndApply(CLOSE, [])
    else if (currentState === 'open' && this.isFleetOpen) return
    else if (currentState !== 'closed' && !this.isFleetOpen) this.onLocalOpen()
  }

  /** The fleet's breaker opened when it did, and not when this node came to hear of it. */
  private reportOpenSince({ age }: FleetBreakerState): void {
    const { breaker, parts } = this
    this.openedAt = breaker.settings.clock.wall() - (age ?? 0)
    if (age === undefined || breaker.currentState !== 'open') return
    breaker.lastStateChange = this.openedAt
    parts.onOpenSince(breaker.id, this.openedAt)
  }

  /** Made with the first vote: most breakers never have one. */
  private get quorumVote(): QuorumVote {
    this.vote ??= new QuorumVote({
      breaker: this.breaker,
      quorum: () => this.options.quorum,
      hasEnoughCalls: () => this.recentCalls.count >= this.options.minimumCalls,
      isUndecided: () => this.isShared && !this.isFleetOpen,
      liveNodes: () => this.parts.liveNodes(),
      countNodes: () => this.parts.countNodes(),
      submit: (args) => this.runAndApply(VOTE, args),
    })
    return this.vote
  }

  private requestProbe(): void {
    if (this.isAsking || !this.isShared || !this.isFleetOpen || this.probeLease !== undefined) return
    const { breaker } = this
    const { clock, halfOpenMax } = breaker.settings
    const sentAt = clock.now()
    this.isAsking = true
    const onReply = (view: FleetBreakerState | undefined) => {
      this.isAsking = false
      const now = clock.now()
      if (view === undefined || !this.isFleetOpen) return this.probeNow()
      if (view.state === 'closed' || (view.token === undefined && view.wait === undefined))
        return this.applyRemote(view)
      if (view.epoch < this.epoch) return
      this.epoch = view.epoch
      if (view.token !== undefined) {
        const from = now + (view.early ?? 0)
        const lease = { token: view.token, from, ends: sentAt + (view.early ?? 0) + PERMIT_HOLD_MS }
        this.probeLease = lease
        this.waitUntil = 0
        if (breaker.currentState !== 'closed') breaker.scheduleProbe(from)
        setUnrefTimer(clock, () => this.releaseProbe(lease), lease.ends - now)
        return
      }
      this.waitUntil = now + Math.min(MAX_RETRY_MS, view.wait ?? 0)
      if (breaker.currentState !== 'closed') breaker.scheduleProbe(this.waitUntil)
    }
    this.request(GRANT_PROBE, [halfOpenMax, PERMIT_HOLD_MS, REQUEST_AHEAD_MS], onReply)
  }

  /** Nobody came to make the test. */
  private releaseProbe(lease: object): void {
    const current = this.probeLease
    if (current !== lease) return
    this.probeLease = undefined
    this.reportProbeResult(current.token, 'nothing')
  }

  private probeNow(): void {
    const { breaker } = this
    const now = breaker.settings.clock.now()
    this.waitUntil = 0
    if (breaker.currentState !== 'closed' && breaker.openUntil > now && this.isFleetOpen)
      breaker.scheduleProbe(now)
  }

  private revertToOpen(view: FleetBreakerState): void {
    this.breaker.applyRemoteState({ ...view, state: 'open', left: 0 })
  }

  private reportProbeResult(token: string, outcome: 'success' | 'failure' | 'nothing'): void {
    const { successThreshold } = this.breaker.settings
    this.runAndApply(
      SETTLE_PROBE,
      [token, outcome, successThreshold, ...currentOpenState(this.breaker)],
      (view) => {
        // The lease had ended: what was found out here does not hold for the fleet, which is still testing.
        if (
          view.gone &&
          view.epoch === this.epoch &&
          this.isFleetOpen &&
          this.breaker.currentState === 'closed'
        )
          this.revertToOpen(view)
      },
    )
  }

  private sendCommand(): void {
    const { pendingCommand: command } = this
    if (command === undefined || !this.isShared) return
    this.request(COMMAND, [command, ...currentOpenState(this.breaker)], (view) => {
      if (view === undefined) return
      if (this.pendingCommand === command) this.pendingCommand = undefined
      this.applyRemote(view)
    })
  }

  private sendCounts({ calls, failures, hasSuccess }: CountedResults): void {
    const { windowDuration, failureThreshold, failureRate = 0, minimumCalls } = this.breaker.settings
    if (!this.isShared || this.isFleetOpen) return
    const [openFor = 0, openings = 0] = nextOpenState(this.breaker)
    const settings = [windowDuration, failureThreshold, failureRate, minimumCalls]
    this.runAndApply(COUNT, [calls, failures, ...settings, hasSuccess ? 1 : 0, openFor, openings])
  }

  private runAndApply(
    script: RedisScript,
    args: (string | number)[],
    then?: (view: FleetBreakerState) => void,
  ): void {
    if (!this.isShared) return
    this.request(script, args, (view) => {
      if (view === undefined) return
      then?.(view)
      this.applyRemote(view)
    })
  }

  /** Runs a script and hands its answer on, outside the async context of the call that brought it about. */
  private request(
    script: RedisScript,
    args: readonly (string | number)[],
    answered: (view: FleetBreakerState | undefined) => void,
  ): void {
    runOutsideContext(() => void this.runScript(script, args).then(answered))
  }

  /** What a script answers; undefined where Redis is lost, which is told elsewhere. */
  private async runScript(
    script: RedisScript,
    args: readonly (string | number)[],
  ): Promise<FleetBreakerState | undefined> {
    const { redis, node } = this.parts
    const { id } = this.breaker
    let reply: unknown
    try {
      reply = await redis.run(script, breakerKeys(id), [node, id, this.epoch, ...args])
    } catch {
      return undefined
    }
    const parsed = parseBreakerState(reply)
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
