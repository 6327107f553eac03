import type { CircuitBreaker, RetryBudgetOptions } from 'holdfast'
import { Complaints } from '../error-log/complaints.js'
import type { Kit } from '../kit.js'
import type { RetryEvent } from '../records/session.js'
import { Aside } from './aside.js'
import { SharedBudget } from './budget.js'
import { SharedBreaker } from './link.js'
import { type FleetNode, Nodes } from './nodes.js'
import { type News, parseNews } from './replies.js'
import { Rests } from './rests.js'
import { CHANNEL } from './scripts.js'
import { type ShareOptions, settingsText } from './settings.js'
import { Strangers } from './strangers.js'
import { EventStream, type FleetEvent } from './stream.js'
import { timer } from './timer.js'
import { Wire } from './wire.js'

/** How often a node says that it lives, where it is not told. */
export const HEARTBEAT = 2000

/** How long opening waits for Redis before the node begins alone. */
const FIRST_WORD = 1000

/** How many breakers are compared with the fleet at a time. */
const AT_ONCE = 200

/** Breakers that are not closed are compared with the fleet once in so many heartbeats. */
const COMPARE = 15

export interface SharedStateOptions {
  /** What this node is called. */
  node: string
  /** How often it says that it lives. @defaultValue 2000 */
  heartbeat?: number | undefined
  /** This node, by its own word. */
  self(): FleetNode
  /** Where a file that the url names lies. @defaultValue where it says */
  path?(path: string): string
  /** A breaker of which others speak and that was not attached: the member of a pool, found when it is first needed. */
  find?(id: string): { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined
  /** A breaker stands open since that wall time, by what the fleet says. */
  openSince?(id: string, at: number): void
  /** Another node has changed the layer of changes. */
  layerChanged?(node: string): void
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
export class SharedState {
  private readonly kit: Kit
  private readonly options: SharedStateOptions
  private readonly links = new Map<string, SharedBreaker>()
  private wire!: Wire
  private members!: Nodes
  private strangers!: Strangers
  private stream!: EventStream
  /** The rests of pools' members. */
  rests!: Rests
  /** The members that the fleet has set aside. */
  aside!: Aside
  private beats = 0
  /** Breakers that are being compared with the fleet, and those that wait for it. */
  private greeting = 0
  private readonly queue: (() => void)[] = []
  /** When Redis was lost; undefined while it is there. */
  private lostAt: Date | undefined = undefined
  private losses = 0
  private closed = false
  /** Says that something from Redis was ignored, at most once a minute. */
  private readonly invalid: Complaints

  private constructor(kit: Kit, options: SharedStateOptions) {
    this.kit = kit
    this.options = options
    this.invalid = new Complaints(kit.clock, (line) => kit.complain(line))
  }

  /** Connects. Where Redis is not there the node begins alone. @throws INVALID_OPTIONS for a url it cannot read */
  static async open(url: string, kit: Kit, options: SharedStateOptions): Promise<SharedState> {
    const state = new SharedState(kit, options)
    const { clock, random } = kit
    let ready = () => {}
    const first = new Promise<void>((resolve) => {
      ready = resolve
    })
    state.wire = await Wire.open(url, {
      clock,
      random,
      channel: CHANNEL,
      path: options.path ?? ((path) => path),
      heard: (text) => state.onMessage(text),
      changed: (up, reason) => {
        state.changed(up, reason)
        ready()
      },
    })
    const onInvalidReply = (problem: string) => state.onInvalidReply(problem)
    state.members = new Nodes(kit, state.wire, {
      heartbeat: options.heartbeat ?? HEARTBEAT,
      self: () => options.self(),
      forgotten: () => void state.compare([...state.links.values()]),
      beaten: () => state.beaten(),
      onInvalidReply,
    })
    state.strangers = new Strangers(kit, {
      wire: state.wire,
      node: options.node,
      links: () => state.links.values(),
      living: (nodes) => state.members.living(nodes),
      reunited: (link) => void state.greet(link),
    })
    state.aside = new Aside(state.wire, (id) => state.find(id), onInvalidReply)
    state.rests = new Rests(state.wire, { node: options.node, clock, onInvalidReply })
    state.stream = new EventStream(kit, state.wire, options.node, onInvalidReply)
    const late = timer(clock, ready, FIRST_WORD)
    await first
    clock.clearTimer(late)
    if (state.wire.up) await state.members.beat()
    else state.changed(false, state.wire.refusal ?? 'it does not answer')
    state.members.start()
    return state
  }

  /** How this node stands with the fleet. */
  status(): FleetStatus {
    const { wire, members, stream, lostAt, losses, options } = this
    const status = { node: options.node, up: wire.up, losses, nodes: wire.up ? members.live : 1 }
    const told = { ...status, commands: wire.sent, eventsDropped: stream.dropped }
    return lostAt === undefined ? told : { ...told, lostSince: lostAt }
  }

  /** Shares a breaker; resolves when it stands where the fleet's does. Calling again takes other options over. */
  async attach(breaker: CircuitBreaker, options: ShareOptions, calls = 0): Promise<void> {
    const known = this.links.get(breaker.id)
    const settings = settingsText(breaker, options)
    if (known?.breaker === breaker && known.settings === settings) return
    this.detach(breaker.id)
    if (options.share === 'none') return
    const link = new SharedBreaker(
      breaker,
      options,
      {
        wire: this.wire,
        node: this.options.node,
        live: () => this.members.live,
        count: () => this.members.count(),
        stands: (mine) => this.aside.note(mine),
        found: (mine, theirs, node) => this.strangers.found(mine, theirs, node),
        openSince: (id, at) => this.options.openSince?.(id, at),
        onInvalidReply: (problem) => this.onInvalidReply(problem),
      },
      known?.lately.calls ?? calls,
    )
    this.links.set(breaker.id, link)
    breaker.coordinator = link
    await this.greet(link)
  }

  /** Lets a breaker stand alone. */
  detach(id: string): void {
    this.links.get(id)?.close()
    this.links.delete(id)
  }

  /** The ids of the breakers that are shared. */
  attached(): string[] {
    return [...this.links.keys()]
  }

  /** A retry budget that the whole fleet draws on. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): SharedBudget {
    return new SharedBudget(id, this.wire, { ...options, clock: this.kit.clock }, (problem) =>
      this.onInvalidReply(problem),
    )
  }

  /** The nodes that live; this one alone where Redis is lost. */
  nodes(): Promise<FleetNode[]> {
    return this.members.list()
  }

  /** Events of every node after a place, oldest first. */
  events(asked?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.stream.list(asked)
  }

  /** Tells the fleet of an event. */
  publish(event: RetryEvent): void {
    this.stream.add(event)
  }

  /** Tells the fleet that the layer of changes is another one now. */
  tellLayer(): void {
    const text = JSON.stringify({ layer: true, node: this.options.node })
    void this.wire.send('PUBLISH', this.wire.channel, text).catch(() => {})
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    for (const id of this.links.keys()) this.detach(id)
    this.rests.close()
    await this.stream.flush()
    await this.members.close()
    this.wire.close()
  }

  private changed(up: boolean, reason: string | undefined): void {
    // The first time that it is there is nothing to tell of.
    if (this.closed || up === (this.lostAt === undefined)) return
    const { node } = this.options
    this.lostAt = up ? undefined : new Date(this.kit.clock.wall())
    if (!up) {
      this.losses++
      this.members?.lost()
      this.kit.complain(`the shared state is lost, this node goes on alone: ${reason}`)
      this.kit.emit({
        eventType: 'shared_state_lost',
        component: 'circuit_breaker',
        context: { node, reason },
      })
      return
    }
    this.kit.emit({ eventType: 'shared_state_restored', component: 'circuit_breaker', context: { node } })
    void this.members.beat()
    void this.compare([...this.links.values()])
    void this.rests.compare()
    void this.aside.learn()
    // What others changed meanwhile was not heard.
    this.options.layerChanged?.(node)
  }

  private onMessage(text: string): void {
    if (this.closed) return
    const parsed = parseNews(text)
    if ('value' in parsed) this.onNews(parsed.value)
    else this.invalid.say(`a message in Redis that is none of this fleet's was ignored: ${parsed.problem}`)
  }

  private onInvalidReply(problem: string): void {
    this.invalid.say(`an answer of Redis that no script of this release gives was ignored: ${problem}`)
  }

  private onNews(news: News): void {
    const { options } = this
    if ('epoch' in news) this.link(news.id)?.onChangePublished(news)
    else if ('ask' in news) {
      if (news.node !== options.node) this.link(news.ask)?.vote(news.round)
    } else if (news.node === options.node) return
    else if ('settings' in news) {
      const link = this.links.get(news.of)
      if (link !== undefined) void this.strangers.heard(link, news)
    } else if ('rest' in news) this.rests.heard(news)
    else if ('layer' in news) options.layerChanged?.(news.node)
    else void this.onNodeChange(news.node, 'joined' in news)
  }

  /** A node is said to have joined or left: Redis knows whether it lives. */
  private async onNodeChange(node: string, hasJoined: boolean): Promise<void> {
    try {
      if ((await this.members.living([node])).has(node) !== hasJoined) return
    } catch {
      return // Redis is lost, which is told elsewhere.
    }
    if (!hasJoined) this.strangers.left(node)
    this.kit.emit({
      eventType: hasJoined ? 'node_joined' : 'node_left',
      component: 'circuit_breaker',
      context: { node },
    })
  }

  private link(id: string): SharedBreaker | undefined {
    const known = this.links.get(id)
    if (known !== undefined) return known
    void this.find(id)
    return this.links.get(id)
  }

  /** Shares a breaker that was not attached; resolves when it stands where the fleet's does. */
  private async find(id: string): Promise<SharedBreaker | undefined> {
    const found = this.options.find?.(id)
    if (found !== undefined && found.options.share !== 'none')
      await this.attach(found.breaker, found.options, found.calls)
    return this.links.get(id)
  }

  private beaten(): void {
    const now = this.kit.clock.now()
    for (const link of this.links.values()) {
      link.lately.rotate(now, link.breaker.settings.windowDuration)
      link.pollAgain()
    }
    void this.strangers.check()
    if (++this.beats % COMPARE !== 0) return
    void this.compare(
      [...this.links.values()].filter(({ fleetOpen, breaker }) => fleetOpen || breaker.isDisabled),
    )
  }

  /** Brings breakers and the fleet together. */
  private async compare(links: readonly SharedBreaker[]): Promise<void> {
    await Promise.all(links.map((link) => this.greet(link)))
  }

  /** Compares a breaker with the fleet's, when those before it are done: Redis must not seem lost because all ask at once. */
  private async greet(link: SharedBreaker): Promise<void> {
    if (this.greeting >= AT_ONCE) await new Promise<void>((resolve) => this.queue.push(resolve))
    this.greeting++
    try {
      await link.hello()
    } finally {
      this.greeting--
      this.queue.shift()?.()
    }
  }
}
