import { DAY_MS } from '@holdfast/records'
import type { CircuitBreaker } from 'holdfast'
import { type BreakerOutcome, type PermitState, runOutsideContext } from 'holdfast/internal'
import { CountBatcher, type CountedResults } from './count-batcher.js'
import { FleetProbes } from './fleet-probes.js'
import { CLOSE, COMMAND, COUNT, OPEN, READ, type RedisScript, SYNC, VOTE } from './lua/scripts.js'
import { currentOpenState, nextOpenState } from './open-state.js'
import { QuorumVote } from './quorum-vote.js'
import { RecentCallCount } from './recent-call-count.js'
import type { RedisConnection } from './redis-connection.js'
import { type FleetBreakerState, parseBreakerState } from './replies.js'
import { type ShareOptions, serializeSettings } from './shared-settings.js'

type BreakerLink = NonNullable<CircuitBreaker['coordinator']>
type OperatorCommand = Parameters<BreakerLink['onCommand']>[0]

/** The keys of one breaker. They share a hash tag, so that a Redis cluster keeps all of them in one slot. */
const breakerKeys = (id: string) => [
  `holdfast:{${id}}:state`,
  `holdfast:{${id}}:round`,
  `holdfast:{${id}}:counts`,
]

/** An epoch is at least the time of Redis in tenths of a millisecond, and rarely more. */
const EPOCHS_PER_MS = 10
const MAX_EPOCH_AHEAD_MS = DAY_MS

export interface FleetBreakerParts {
  readonly redis: RedisConnection
  readonly node: string
  /** The number of live nodes at the last heartbeat. */
  liveNodes(): number
  /** The number of live nodes now: `UNCERTAIN_COUNT` if some may be missing, undefined if Redis is not available. */
  countNodes(): Promise<number | undefined>
  /** The state of the fleet's breaker was changed by this node, or is open. */
  onSynced(breakerLink: FleetBreaker): void
  /** Redis has the settings of another node, which may have left. */
  onSettingsFound(breakerLink: FleetBreaker, settings: string, node: string): Promise<void>
  /** The fleet reports that the breaker has been open since this wall time. */
  onOpenSince(id: string, at: number): void
  /** A reply of Redis was not valid. */
  onInvalidReply(problem: string): void
}

/** Connects a breaker with the breakers of the same id on other nodes. Calls never wait for any of it. */
export class FleetBreaker implements BreakerLink {
  isProbeWanted = false
  /** The last epoch of the fleet that this node knows. */
  epoch = 0
  /** Whether the breaker is open or half open in the fleet. */
  isFleetOpen = false
  /** Wall time at which the fleet's breaker opened. */
  private openedAt = 0
  /** Live nodes that have other settings. While there are any, this breaker decides alone. */
  readonly mismatchedNodes = new Set<string>()
  readonly breaker: CircuitBreaker
  options: ShareOptions
  settings: string
  /** Counted results of calls. */
  readonly recentCalls: RecentCallCount
  private readonly parts: FleetBreakerParts
  private readonly probes = new FleetProbes(this)
  private pendingCommand: OperatorCommand | undefined = undefined
  private readonly counts: CountBatcher
  private vote: QuorumVote | undefined = undefined
  /** Whether a change was published that has not been read yet, and whether a read is in progress. */
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

  /** Whether this breaker decides together with other nodes. */
  get isShared(): boolean {
    return this.parts.redis.isUp && this.mismatchedNodes.size === 0 && !this.isClosed
  }

  probeAllowedAt(_lease: number, now: number): number {
    return this.probes.probeAllowedAt(now)
  }

  onProbeStarted(permit: PermitState, lease: number): void {
    this.probes.onStarted(permit, lease)
  }

  onProbeEnded(permit: PermitState, outcome: BreakerOutcome): void {
    this.probes.onEnded(permit, outcome)
  }

  onResult(state: CircuitBreaker['currentState'], isFailure: boolean): void {
    this.recentCalls.totalCalls++
    const { breaker } = this
    if (state === 'half_open') {
      const isReported = this.probes.reportResult(isFailure)
      if (!isReported && breaker.currentState !== 'half_open') this.reportLocalChange()
      return
    }
    if (this.options.share === 'counts') this.counts.add(isFailure)
    // A success can open a rate window too: a slow one, or one that makes the number of calls large enough.
    if ((isFailure || state === 'closed') && breaker.currentState === 'open') this.onLocalOpen()
  }

  onCommand(command: OperatorCommand): void {
    this.pendingCommand = command
    this.probes.dropLease()
    this.sendCommand()
  }

  /** Called when results of this node opened the breaker. */
  onLocalOpen(): void {
    if (!this.isShared) {
      // The failures are newer than a reset that could not be sent to the fleet.
      if (this.pendingCommand === 'reset') this.pendingCommand = undefined
      return
    }
    if (this.options.share !== 'quorum') this.runAndApply(OPEN, currentOpenState(this.breaker))
    else runOutsideContext(() => void this.quorumVote.poll())
  }

  /** Repeats a poll that was made while the number of nodes was uncertain. */
  repeatPoll(): void {
    this.vote?.repeatPoll()
  }

  /** Submits this node's vote in a round that another node began. */
  answerVote(round: string): void {
    if (this.options.share === 'quorum') this.quorumVote.answerPoll(round)
  }

  /**
   * A node published that the fleet's breaker has changed. A message is only a hint, because every client of Redis can publish
   * one: the state is read from Redis before it is applied. Changes of this node are read too, unless their reply has arrived:
   * a command that was sent again changes the state twice, and the node receives the reply of one change.
   */
  onChangePublished(view: FleetBreakerState): void {
    this.probes.onFleetState(view)
    if (view.epoch <= this.epoch || this.mismatchedNodes.size > 0) return
    this.isOutdated = true
    if (!this.isReading) void this.readFleetState()
  }

  /** Reads the state of the fleet, and reads it again if a change was published meanwhile. */
  private async readFleetState(): Promise<void> {
    this.isReading = true
    while (this.isOutdated && this.isShared) {
      this.isOutdated = false
      const view = await this.runScript(READ, [])
      if (view !== undefined) this.applyRemote(view)
    }
    this.isReading = false
  }

  /** Applies a state of the fleet if its epoch is newer. */
  applyRemote(view: FleetBreakerState): void {
    const { breaker, parts } = this
    this.probes.onFleetState(view)
    if (view.epoch <= this.epoch || this.mismatchedNodes.size > 0) return
    const { clock } = breaker.settings
    this.epoch = view.epoch
    this.probes.reset()
    this.isFleetOpen = view.state !== 'closed'
    const isApplied = this.isFleetOpen ? breaker.currentState === 'open' : breaker.currentState === 'closed'
    // A node that made the change is in this state already.
    if (view.node !== parts.node || !isApplied || view.off !== breaker.isDisabled) {
      breaker.applyRemoteState({ ...view, state: this.isFleetOpen ? 'open' : 'closed' })
      this.reportOpenSince(view)
    } else this.openedAt = breaker.lastStateChange ?? clock.wall()
    if (view.node === parts.node) parts.onSynced(this)
    this.probes.onStateApplied(view.left)
  }

  /**
   * Sends the state that this node knows, receives the state of the fleet, and applies or reports the difference. Returns whether
   * this node knows the state of the fleet then.
   */
  async sync(): Promise<boolean> {
    const { breaker, parts } = this
    const { redis, node } = parts
    const left = Math.max(0, breaker.openUntil - breaker.settings.clock.now())
    const { openDuration, consecutiveOpens, failures, isDisabled, tripDuration = 0 } = breaker
    const known = this.isFleetOpen ? ['open', left] : ['closed', 0]
    const age = this.isFleetOpen ? Math.max(0, breaker.settings.clock.wall() - this.openedAt) : 0
    const state = [openDuration, consecutiveOpens, failures, isDisabled ? 1 : 0, age, tripDuration]
    const args = [this.settings, ...known, ...state]
    const view = await this.runScript(SYNC, args)
    if (view === undefined) return false
    if (view.by !== node) await parts.onSettingsFound(this, view.settings ?? '', view.by ?? '')
    if (this.isClosed) return false
    if (this.pendingCommand !== undefined) this.sendCommand()
    else if (view.epoch > this.epoch) this.applyRemote(view)
    else if (redis.isUp) this.reportLocalChange()
    if (this.isFleetOpen) parts.onSynced(this)
    return view.epoch <= this.epoch
  }

  close(): void {
    this.probes.close()
    this.isClosed = true
    this.counts.close()
    if (this.breaker.coordinator === this) this.breaker.coordinator = undefined
  }

  /** Reports a state change that this node made alone, unless the fleet has a newer state. */
  private reportLocalChange(): void {
    const { currentState } = this.breaker
    if (!this.isShared) {
      // A successful probe is newer than a trip that could not be sent to the fleet.
      if (currentState === 'closed' && this.pendingCommand === 'trip') this.pendingCommand = undefined
      return
    }
    if (currentState === 'closed' && this.isFleetOpen) this.runAndApply(CLOSE, [])
    else if (currentState === 'open' && this.isFleetOpen) return
    else if (currentState !== 'closed' && !this.isFleetOpen) this.onLocalOpen()
  }

  /** Uses the time at which the fleet's breaker opened, not the time at which this node received the change. */
  private reportOpenSince({ age }: FleetBreakerState): void {
    const { breaker, parts } = this
    this.openedAt = breaker.settings.clock.wall() - (age ?? 0)
    if (age === undefined || breaker.currentState !== 'open') return
    breaker.lastStateChange = this.openedAt
    parts.onOpenSince(breaker.id, this.openedAt)
  }

  /** Created with the first vote, because most breakers never have one. */
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

  private sendCommand(): void {
    const { pendingCommand: command } = this
    if (command === undefined || !this.isShared) return
    const { tripDuration = 0 } = this.breaker
    this.request(COMMAND, [command, ...currentOpenState(this.breaker), tripDuration], (view) => {
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

  /** Runs a script, and applies the state in its reply. */
  runAndApply(
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

  /** Runs a script and handles its reply outside the async context of the call that caused it. */
  request(
    script: RedisScript,
    args: readonly (string | number)[],
    onReply: (view: FleetBreakerState | undefined) => void,
  ): void {
    runOutsideContext(() => void this.runScript(script, args).then(onReply))
  }

  /** Returns the reply of a script; undefined if Redis is not available, which the connection reports. */
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
    // An epoch far ahead of the time of Redis is ignored, as the scripts do. Otherwise no later change would be newer.
    if (view.now !== undefined && this.epoch > (view.now + MAX_EPOCH_AHEAD_MS) * EPOCHS_PER_MS) this.epoch = 0
    return view
  }
}
