import { CONFIG_DEFAULTS, type RuntimeContext } from '@holdfast/config'
import { type RetryEvent, ThrottledWarnings } from '@holdfast/records'
import type { CircuitBreaker, RetryBudgetOptions } from 'holdfast'
import { EjectedMembers } from './ejected-members.js'
import { type FleetEvent, FleetEventStream } from './event-stream.js'
import { type FindBreaker, FleetBreakers } from './fleet-breakers.js'
import { MemberCooldowns } from './member-cooldowns.js'
import { FleetMembership, type FleetNode } from './membership.js'
import { ioredisDriver, type RedisDriver } from './redis-client.js'
import { RedisConnection } from './redis-connection.js'
import { type FleetMessage, parseMessage } from './replies.js'
import { FleetRetryBudget } from './retry-budget.js'
import { SettingsMismatch } from './settings-mismatch.js'
import type { ShareOptions } from './shared-settings.js'
import { setUnrefTimer } from './unref-timer.js'

/** The heartbeat interval of a node for which none is configured. */
export const HEARTBEAT_MS = CONFIG_DEFAULTS.node.heartbeat

/** How long `open` waits for Redis before the node starts without it. */
const CONNECT_WAIT_MS = 1000

export interface FleetCoordinatorOptions {
  /** Id of this node. */
  node: string
  /** Milliseconds between two heartbeats. @defaultValue 2000 */
  heartbeat?: number | undefined
  /** The record of this node. */
  self(): FleetNode
  /** How Redis is reached. @defaultValue ioredis */
  driver?: RedisDriver | undefined
  /** Resolves the path of a file that the url names. @defaultValue the path as it is */
  resolvePath?(path: string): string
  findBreaker?: FindBreaker
  /** The fleet reports that a breaker has been open since this wall time. */
  onOpenSince?(id: string, at: number): void
  /** Another node has made a live change of the configuration. */
  onLayerChanged?(node: string): void
}

/** The connection of a node to its fleet. */
export interface FleetStatus {
  /** Id of this node. */
  readonly node: string
  /** Whether Redis is available. */
  readonly up: boolean
  /** Since when Redis is not available. */
  readonly lostSince?: Date
  /** How often the connection to Redis was lost. */
  readonly losses: number
  /** Number of live nodes, including this one; 1 while Redis is not available. */
  readonly nodes: number
  /** Number of commands that were sent to Redis. */
  readonly commands: number
  /** Number of events that were not sent to other nodes, because Redis was not available or too slow. */
  readonly eventsDropped: number
}

/**
 * State that the nodes of a fleet share through Redis. While Redis is not available every breaker decides alone; it is
 * synchronized when Redis is back.
 */
export class FleetCoordinator {
  private readonly runtime: RuntimeContext
  private readonly options: FleetCoordinatorOptions
  private breakers!: FleetBreakers
  private redis!: RedisConnection
  private membership!: FleetMembership
  private settingsMismatch!: SettingsMismatch
  private eventStream!: FleetEventStream
  /** The cooldowns of pool members that the nodes share. */
  cooldowns!: MemberCooldowns
  /** The pool members that the fleet has ejected. */
  ejected!: EjectedMembers
  /** When Redis was lost; undefined while it is available. */
  private lostAt: Date | undefined = undefined
  private losses = 0
  private isClosed = false
  /** Warns that a message or reply of Redis was ignored, at most once a minute. */
  private readonly invalid: ThrottledWarnings

  private constructor(runtime: RuntimeContext, options: FleetCoordinatorOptions) {
    this.runtime = runtime
    this.options = options
    this.invalid = new ThrottledWarnings(runtime.clock, (line) => runtime.warn(line))
  }

  /** Connects. If Redis is not available the node starts without it. @throws INVALID_OPTIONS for a url that is not valid */
  static async open(
    url: string,
    runtime: RuntimeContext,
    options: FleetCoordinatorOptions,
  ): Promise<FleetCoordinator> {
    const coordinator = new FleetCoordinator(runtime, options)
    const { clock, random } = runtime
    const { driver = ioredisDriver } = options
    let onReady = () => {}
    const ready = new Promise<void>((resolve) => {
      onReady = resolve
    })
    coordinator.redis = await RedisConnection.open(url, {
      clock,
      random,
      driver,
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
      onForgotten: () => coordinator.breakers.syncAll(),
      onHeartbeat: () => {
        coordinator.breakers.onHeartbeat()
        void coordinator.settingsMismatch.removeDepartedNodes()
      },
      onInvalidReply,
    })
    coordinator.breakers = new FleetBreakers(
      clock,
      {
        redis: coordinator.redis,
        node: options.node,
        liveNodes: () => coordinator.membership.liveNodes,
        countNodes: () => coordinator.membership.countNodes(),
        onSynced: (mine) => coordinator.ejected.recordState(mine),
        onSettingsFound: (mine, theirs, node) =>
          coordinator.settingsMismatch.onStoredSettings(mine, theirs, node),
        onOpenSince: (id, at) => options.onOpenSince?.(id, at),
        onInvalidReply,
      },
      options.findBreaker,
    )
    coordinator.settingsMismatch = new SettingsMismatch(runtime, {
      redis: coordinator.redis,
      node: options.node,
      breakers: () => coordinator.breakers.values(),
      filterLive: (nodes) => coordinator.membership.filterLive(nodes),
      onResolved: (breakerLink) => void coordinator.breakers.sync(breakerLink),
    })
    coordinator.ejected = new EjectedMembers(
      coordinator.redis,
      (id) => coordinator.breakers.findAndAttach(id),
      (breakerLink) => coordinator.breakers.sync(breakerLink),
      onInvalidReply,
    )
    coordinator.cooldowns = new MemberCooldowns(coordinator.redis, {
      node: options.node,
      clock,
      onInvalidReply,
    })
    coordinator.eventStream = new FleetEventStream(runtime, coordinator.redis, options.node, onInvalidReply)
    const waitTimer = setUnrefTimer(clock, () => driver.afterPendingReads(onReady), CONNECT_WAIT_MS)
    await ready
    clock.clearTimer(waitTimer)
    if (coordinator.redis.isUp) await coordinator.membership.heartbeat()
    else coordinator.onConnectionChanged(false, coordinator.redis.rejection ?? 'no reply')
    coordinator.membership.start()
    return coordinator
  }

  /** The connection of this node to the fleet. */
  status(): FleetStatus {
    const { redis, membership, eventStream, lostAt, losses, options } = this
    const status = {
      node: options.node,
      up: redis.isUp,
      losses,
      nodes: redis.isUp ? membership.liveNodes : 1,
    }
    const counted = { ...status, commands: redis.commandCount, eventsDropped: eventStream.dropped }
    return lostAt === undefined ? counted : { ...counted, lostSince: lostAt }
  }

  /** Shares a breaker; resolves when it has the state of the fleet. Another call replaces the options. */
  attach(breaker: CircuitBreaker, options: ShareOptions, calls?: number): Promise<void> {
    return this.breakers.attach(breaker, options, calls)
  }

  /** Stops sharing a breaker. */
  detach(id: string): void {
    this.breakers.detach(id)
  }

  /** The ids of the breakers that are shared. */
  attachedIds(): string[] {
    return this.breakers.ids()
  }

  /** Creates a retry budget that all nodes share. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): FleetRetryBudget {
    return new FleetRetryBudget(id, this.redis, { ...options, clock: this.runtime.clock }, (problem) =>
      this.onInvalidReply(problem),
    )
  }

  /** The live nodes; only this one if Redis is not available. */
  nodes(): Promise<FleetNode[]> {
    return this.membership.list()
  }

  /** Events of every node after a place, oldest first. */
  events(page?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.eventStream.list(page)
  }

  /** Adds an event to the stream of the fleet. */
  publish(event: RetryEvent): void {
    this.eventStream.add(event)
  }

  /** Publishes that the live changes of the configuration have changed. */
  publishLayerChange(): void {
    const text = JSON.stringify({ layer: true, node: this.options.node })
    void this.redis.send('PUBLISH', this.redis.channel, text).catch(() => {})
  }

  /** Leaves the fleet and closes the connection. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    for (const id of this.breakers.ids()) this.detach(id)
    this.cooldowns.close()
    await this.eventStream.flush()
    await this.membership.close()
    this.redis.close()
  }

  private onConnectionChanged(isUp: boolean, reason: string | undefined): void {
    // The first connection is not reported.
    if (this.isClosed || isUp === (this.lostAt === undefined)) return
    const { node } = this.options
    this.lostAt = isUp ? undefined : new Date(this.runtime.clock.wall())
    if (!isUp) {
      this.losses++
      this.membership?.onDisconnected()
      this.runtime.warn(`shared state lost, this node decides alone until Redis is back: ${reason}`)
      this.runtime.emit({
        eventType: 'shared_state_lost',
        component: 'circuit_breaker',
        context: { node, reason },
      })
      return
    }
    this.runtime.emit({ eventType: 'shared_state_restored', component: 'circuit_breaker', context: { node } })
    void this.membership.heartbeat()
    this.breakers.syncAll()
    void this.cooldowns.sync()
    void this.ejected.refresh()
    // Events that waited when Redis was lost have no timer any more.
    void this.eventStream.flush()
    // Changes that other nodes made meanwhile were not received.
    this.options.onLayerChanged?.(node)
  }

  private onMessage(text: string): void {
    if (this.isClosed) return
    const parsed = parseMessage(text)
    if ('value' in parsed) this.routeMessage(parsed.value)
    else this.invalid.warn(`ignored a message in Redis that is not valid: ${parsed.problem}`)
  }

  private onInvalidReply(problem: string): void {
    this.invalid.warn(`ignored a reply of Redis that is not valid: ${problem}`)
  }

  private routeMessage(message: FleetMessage): void {
    const { options } = this
    if ('epoch' in message) this.breakers.getOrAttach(message.id)?.onChangePublished(message)
    else if ('ask' in message) {
      if (message.node !== options.node) this.breakers.getOrAttach(message.ask)?.answerVote(message.round)
    } else if (message.node === options.node) return
    else if ('settings' in message) {
      const breakerLink = this.breakers.get(message.of)
      if (breakerLink !== undefined) void this.settingsMismatch.onSettings(breakerLink, message)
    } else if ('rest' in message) this.cooldowns.onMessage(message)
    else if ('layer' in message) options.onLayerChanged?.(message.node)
    else void this.onNodeChange(message.node, 'joined' in message)
  }

  /** Another node is reported as joined or left. The report is checked in Redis before it is used. */
  private async onNodeChange(node: string, hasJoined: boolean): Promise<void> {
    try {
      if ((await this.membership.filterLive([node])).has(node) !== hasJoined) return
    } catch {
      return // Redis is not available, which the connection reports.
    }
    if (!hasJoined) this.settingsMismatch.onNodeLeft(node)
    this.runtime.emit({
      eventType: hasJoined ? 'node_joined' : 'node_left',
      component: 'circuit_breaker',
      context: { node },
    })
  }
}
