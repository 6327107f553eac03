import type { RuntimeContext } from '@holdfast/config'
import { type RetryEvent, ThrottledWarnings } from '@holdfast/records'
import type { CircuitBreaker, RetryBudgetOptions } from 'holdfast'
import { CHANNEL } from './breaker-scripts.js'
import { EjectedMembers } from './ejected-members.js'
import { type FleetEvent, FleetEventStream } from './event-stream.js'
import { FleetBreaker } from './fleet-breaker.js'
import { MemberCooldowns } from './member-cooldowns.js'
import { FleetMembership, type FleetNode } from './membership.js'
import { RedisConnection } from './redis-connection.js'
import { type FleetMessage, parseMessage } from './replies.js'
import { FleetRetryBudget } from './retry-budget.js'
import { SettingsMismatch } from './settings-mismatch.js'
import { type ShareOptions, serializeSettings } from './shared-settings.js'
import { setUnrefTimer } from './unref-timer.js'

/** How often a node says that it lives, where it is not told. */
export const HEARTBEAT_MS = 2000

/** How long opening waits for Redis before the node begins alone. */
const CONNECT_WAIT_MS = 1000

/** How many breakers are compared with the fleet at a time. */
const MAX_CONCURRENT_SYNCS = 200

/** Breakers that are not closed are compared with the fleet once in so many heartbeats. */
const SYNC_EVERY_HEARTBEATS = 15

export interface FleetCoordinatorOptions {
  /** What this node is called. */
  node: string
  /** How often it says that it lives. @defaultValue 2000 */
  heartbeat?: number | undefined
  /** This node, by its own word. */
  self(): FleetNode
  /** Where a file that the url names lies. @defaultValue where it says */
  resolvePath?(path: string): string
  /** A breaker of which others speak and that was not attached: the member of a pool, found when it is first needed. */
  findBreaker?(id: string): { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined
  /** A breaker stands open since that wall time, by what the fleet says. */
  onOpenSince?(id: string, at: number): void
  /** Another node has changed the layer of changes. */
  onLayerChanged?(node: string): void
}

/** How a node stands with its fleet. */
export interface FleetStatus {
  /** What this node is called. */
  readonly node: string
  /** Whether Redis answers. */
  readonly up: boolean
  /** Since when it does not. */
  readonly lostSince?: Date
  /** How often it was lost. */
  readonly losses: number
  /** How many nodes live, this one included; 1 while Redis is lost. */
  readonly nodes: number
  /** How many commands were sent to it. */
  readonly commands: number
  /** Events that the other nodes were not told of, because Redis was lost or slow. */
  readonly eventsDropped: number
}

/**
 * What the nodes of a fleet know together, over Redis. Everything here goes on without Redis: breakers decide alone, and
 * come together again when it is back.
 */
export class FleetCoordinator {
  private readonly runtime: RuntimeContext
  private readonly options: FleetCoordinatorOptions
  private readonly breakers = new Map<string, FleetBreaker>()
  private redis!: RedisConnection
  private membership!: FleetMembership
  private settingsMismatch!: SettingsMismatch
  private eventStream!: FleetEventStream
  /** The rests of pools' members. */
  cooldowns!: MemberCooldowns
  /** The members that the fleet has set aside. */
  ejected!: EjectedMembers
  private heartbeats = 0
  /** Breakers that are being compared with the fleet, and those that wait for it. */
  private syncing = 0
  private readonly syncQueue: (() => void)[] = []
  /** When Redis was lost; undefined while it is there. */
  private lostAt: Date | undefined = undefined
  private losses = 0
  private isClosed = false
  /** Says that something from Redis was ignored, at most once a minute. */
  private readonly invalid: ThrottledWarnings

  private constructor(runtime: RuntimeContext, options: FleetCoordinatorOptions) {
    this.runtime = runtime
    this.options = options
    this.invalid = new ThrottledWarnings(runtime.clock, (line) => runtime.warn(line))
  }

  /** Connects. Where Redis is not there the node begins alone. @throws INVALID_OPTIONS for a url it cannot read */
  static async open(
    url: string,
    runtime: RuntimeContext,
    options: FleetCoordinatorOptions,
  ): Promise<FleetCoordinator> {
    const coordinator = new FleetCoordinator(runtime, options)
    const { clock, random } = runtime
    let onReady = () => {}
    const ready = new Promise<void>((resolve) => {
      onReady = resolve
    })
    coordinator.redis = await RedisConnection.open(url, {
      clock,
      random,
      channel: CHANNEL,
      resolvePath: options.resolvePath ?? ((path) => path),
      onMessage: (text) => coordinator.onMessage(text),
      onChanged: (up, reason) => {
        coordinator.onConnectionChanged(up, reason)
        onReady()
      },
    })
    const onInvalidReply = (problem: string) => coordinator.onInvalidReply(problem)
    coordinator.membership = new FleetMembership(runtime, coordinator.redis, {
      heartbeat: options.heartbeat ?? HEARTBEAT_MS,
      self: () => options.self(),
      onForgotten: () => void coordinator.syncBreakers([...coordinator.breakers.values()]),
      onHeartbeat: () => coordinator.onHeartbeat(),
      onInvalidReply,
    })
    coordinator.settingsMismatch = new SettingsMismatch(runtime, {
      redis: coordinator.redis,
      node: options.node,
      breakers: () => coordinator.breakers.values(),
      filterLive: (nodes) => coordinator.membership.filterLive(nodes),
      onResolved: (breakerLink) => void coordinator.syncQueued(breakerLink),
    })
    coordinator.ejected = new EjectedMembers(
      coordinator.redis,
      (id) => coordinator.findAndAttach(id),
      onInvalidReply,
    )
    coordinator.cooldowns = new MemberCooldowns(coordinator.redis, {
      node: options.node,
      clock,
      onInvalidReply,
    })
    coordinator.eventStream = new FleetEventStream(runtime, coordinator.redis, options.node, onInvalidReply)
    const waitTimer = setUnrefTimer(clock, onReady, CONNECT_WAIT_MS)
    await ready
    clock.clearTimer(waitTimer)
    if (coordinator.redis.isUp) await coordinator.membership.heartbeat()
    else coordinator.onConnectionChanged(false, coordinator.redis.rejection ?? 'it does not answer')
    coordinator.membership.start()
    return coordinator
  }

  /** How this node stands with the fleet. */
  status(): FleetStatus {
    const { redis, membership, eventStream, lostAt, losses, options } = this
    const status = {
      node: options.node,
      up: redis.isUp,
      losses,
      nodes: redis.isUp ? membership.liveNodes : 1,
    }
    const told = { ...status, commands: redis.commandCount, eventsDropped: eventStream.dropped }
    return lostAt === undefined ? told : { ...told, lostSince: lostAt }
  }

  /** Shares a breaker; resolves when it stands where the fleet's does. Calling again takes other options over. */
  async attach(breaker: CircuitBreaker, options: ShareOptions, calls = 0): Promise<void> {
    const existing = this.breakers.get(breaker.id)
    const settings = serializeSettings(breaker, options)
    if (existing?.breaker === breaker && existing.settings === settings) return
    this.detach(breaker.id)
    if (options.share === 'none') return
    const breakerLink = new FleetBreaker(
      breaker,
      options,
      {
        redis: this.redis,
        node: this.options.node,
        liveNodes: () => this.membership.liveNodes,
        countNodes: () => this.membership.countNodes(),
        onSynced: (mine) => this.ejected.recordState(mine),
        onSettingsFound: (mine, theirs, node) => this.settingsMismatch.onStoredSettings(mine, theirs, node),
        onOpenSince: (id, at) => this.options.onOpenSince?.(id, at),
        onInvalidReply: (problem) => this.onInvalidReply(problem),
      },
      existing?.recentCalls.totalCalls ?? calls,
    )
    this.breakers.set(breaker.id, breakerLink)
    breaker.coordinator = breakerLink
    await this.syncQueued(breakerLink)
  }

  /** Lets a breaker stand alone. */
  detach(id: string): void {
    this.breakers.get(id)?.close()
    this.breakers.delete(id)
  }

  /** The ids of the breakers that are shared. */
  attachedIds(): string[] {
    return [...this.breakers.keys()]
  }

  /** A retry budget that the whole fleet draws on. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): FleetRetryBudget {
    return new FleetRetryBudget(id, this.redis, { ...options, clock: this.runtime.clock }, (problem) =>
      this.onInvalidReply(problem),
    )
  }

  /** The nodes that live; this one alone where Redis is lost. */
  nodes(): Promise<FleetNode[]> {
    return this.membership.list()
  }

  /** Events of every node after a place, oldest first. */
  events(asked?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.eventStream.list(asked)
  }

  /** Tells the fleet of an event. */
  publish(event: RetryEvent): void {
    this.eventStream.add(event)
  }

  /** Tells the fleet that the layer of changes is another one now. */
  publishLayerChange(): void {
    const text = JSON.stringify({ layer: true, node: this.options.node })
    void this.redis.send('PUBLISH', this.redis.channel, text).catch(() => {})
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    for (const id of this.breakers.keys()) this.detach(id)
    this.cooldowns.close()
    await this.eventStream.flush()
    await this.membership.close()
    this.redis.close()
  }

  private onConnectionChanged(up: boolean, reason: string | undefined): void {
    // The first time that it is there is nothing to tell of.
    if (this.isClosed || up === (this.lostAt === undefined)) return
    const { node } = this.options
    this.lostAt = up ? undefined : new Date(this.runtime.clock.wall())
    if (!up) {
      this.losses++
      this.membership?.onDisconnected()
      this.runtime.warn(`the shared state is lost, this node goes on alone: ${reason}`)
      this.runtime.emit({
        eventType: 'shared_state_lost',
        component: 'circuit_breaker',
        context: { node, reason },
      })
      return
    }
    this.runtime.emit({ eventType: 'shared_state_restored', component: 'circuit_breaker', context: { node } })
    void this.membership.heartbeat()
    void this.syncBreakers([...this.breakers.values()])
    void this.cooldowns.sync()
    void this.ejected.refresh()
    // What others changed meanwhile was not heard.
    this.options.onLayerChanged?.(node)
  }

  private onMessage(text: string): void {
    if (this.isClosed) return
    const parsed = parseMessage(text)
    if ('value' in parsed) this.onNews(parsed.value)
    else this.invalid.warn(`a message in Redis that is none of this fleet's was ignored: ${parsed.problem}`)
  }

  private onInvalidReply(problem: string): void {
    this.invalid.warn(`an answer of Redis that no script of this release gives was ignored: ${problem}`)
  }

  private onNews(news: FleetMessage): void {
    const { options } = this
    if ('epoch' in news) this.breakerFor(news.id)?.onChangePublished(news)
    else if ('ask' in news) {
      if (news.node !== options.node) this.breakerFor(news.ask)?.answerVote(news.round)
    } else if (news.node === options.node) return
    else if ('settings' in news) {
      const breakerLink = this.breakers.get(news.of)
      if (breakerLink !== undefined) void this.settingsMismatch.onSettings(breakerLink, news)
    } else if ('rest' in news) this.cooldowns.onMessage(news)
    else if ('layer' in news) options.onLayerChanged?.(news.node)
    else void this.onNodeChange(news.node, 'joined' in news)
  }

  /** A node is said to have joined or left: Redis knows whether it lives. */
  private async onNodeChange(node: string, hasJoined: boolean): Promise<void> {
    try {
      if ((await this.membership.filterLive([node])).has(node) !== hasJoined) return
    } catch {
      return // Redis is lost, which is told elsewhere.
    }
    if (!hasJoined) this.settingsMismatch.onNodeLeft(node)
    this.runtime.emit({
      eventType: hasJoined ? 'node_joined' : 'node_left',
      component: 'circuit_breaker',
      context: { node },
    })
  }

  private breakerFor(id: string): FleetBreaker | undefined {
    const known = this.breakers.get(id)
    if (known !== undefined) return known
    void this.findAndAttach(id)
    return this.breakers.get(id)
  }

  /** Shares a breaker that was not attached; resolves when it stands where the fleet's does. */
  private async findAndAttach(id: string): Promise<FleetBreaker | undefined> {
    const found = this.options.findBreaker?.(id)
    if (found !== undefined && found.options.share !== 'none')
      await this.attach(found.breaker, found.options, found.calls)
    return this.breakers.get(id)
  }

  private onHeartbeat(): void {
    const now = this.runtime.clock.now()
    for (const breakerLink of this.breakers.values()) {
      breakerLink.recentCalls.rotate(now, breakerLink.breaker.settings.windowDuration)
      breakerLink.repeatPoll()
    }
    void this.settingsMismatch.removeDepartedNodes()
    if (++this.heartbeats % SYNC_EVERY_HEARTBEATS !== 0) return
    void this.syncBreakers(
      [...this.breakers.values()].filter(({ isFleetOpen, breaker }) => isFleetOpen || breaker.isDisabled),
    )
  }

  /** Brings breakers and the fleet together. */
  private async syncBreakers(breakerLinks: readonly FleetBreaker[]): Promise<void> {
    await Promise.all(breakerLinks.map((breakerLink) => this.syncQueued(breakerLink)))
  }

  /** Compares a breaker with the fleet's, when those before it are done: Redis must not seem lost because all ask at once. */
  private async syncQueued(breakerLink: FleetBreaker): Promise<void> {
    if (this.syncing >= MAX_CONCURRENT_SYNCS)
      await new Promise<void>((resolve) => this.syncQueue.push(resolve))
    this.syncing++
    try {
      await breakerLink.sync()
    } finally {
      this.syncing--
      this.syncQueue.shift()?.()
    }
  }
}
