import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { ConnectionLostError, type Link } from './link.js'

/** How long a connection attempt to a server that does not respond takes. */
const CONNECT_TIMEOUT_MS = 2000

/** The usual delay of a packet. */
const MEAN_DELAY_MS = 1

/** The time between two packets of a connection. Events at the same time have a random order, and packets of a connection do not. */
const PACKET_GAP_MS = 0.000_001

/** The time after which TCP sends a lost packet again. It doubles with each loss. */
const RETRANSMIT_MS = 200
const MAX_RETRANSMITS = 5

/** The probability that a server still gets the requests that were on their way when the client lost the connection. */
const LATE_REQUESTS_CHANCE = 0.5

/** The probability that only one of several connections breaks. */
const SINGLE_RESET_CHANCE = 0.5

/** A server executes no request of a closed connection that arrives later than this, because it ends idle transactions. */
const MAX_LATE_MS = 5000

/** A message on its way. `deliver` runs when it arrives. */
interface Packet {
  readonly connection: number
  readonly sentAt: number
  readonly deliver: () => void
}

/** The path between one node and one server, shared by all links between them. */
class Route {
  /** While it is set, packets wait until the partition ends. */
  isPartitioned = false
  /** While it is set, the server does not accept connections. */
  isRefused = false
  meanDelay = MEAN_DELAY_MS
  /** The probability that a message arrives twice. */
  duplicates = 0
  /** The probability that a packet is lost and sent again. Later packets of the same connection wait for it. */
  losses = 0
  /** The probability that a connection breaks after the server has executed a request, and before the reply. */
  lostReplies = 0
  /** How many packets and connections its failures have changed. */
  affectedCount = 0
  /** When the server last ended. It executes no request that was sent before. */
  serverEndedAt = Number.NEGATIVE_INFINITY
  /** Directions of connections, open or closed, with packets that wait for the end of a partition. */
  readonly stalledLanes = new Set<Lane>()
  /** The open links. */
  readonly links = new Set<SimulatedLink>()
}

/** A request that has not been answered. */
interface PendingRequest {
  readonly connection: number
  readonly reject: (error: Error) => void
}

/** One direction of a connection: packets arrive in the order in which they were sent. */
class Lane {
  private readonly network: Network
  private readonly route: Route
  private lastArrival = 0
  /** Packets that wait for the end of a partition. */
  private readonly stalled: Packet[] = []
  private readonly isAlive: (packet: Packet) => boolean

  constructor(network: Network, route: Route, isAlive: (packet: Packet) => boolean) {
    this.network = network
    this.route = route
    this.isAlive = isAlive
  }

  send(packet: Packet): void {
    const { scheduler, choices } = this.network
    const { now } = scheduler
    if (this.route.meanDelay !== MEAN_DELAY_MS) this.route.affectedCount++
    const delay = choices.delay(this.route.meanDelay) + this.retransmitDelay()
    this.lastArrival = Math.max(this.lastArrival + PACKET_GAP_MS, now + delay)
    scheduler.schedule(this.lastArrival - now, () => this.arrive(packet))
  }

  /** The next packet belongs to a new connection, and does not wait for those of the last one. */
  startConnection(): void {
    this.lastArrival = 0
  }

  private retransmitDelay(): number {
    const { losses } = this.route
    let delay = 0
    if (losses > 0)
      for (let count = 0; count < MAX_RETRANSMITS && this.network.choices.chance(losses); count++)
        delay += RETRANSMIT_MS * 2 ** count
    if (delay > 0) this.route.affectedCount++
    return delay
  }

  /** Sends the packets that waited for the end of a partition. */
  resume(): void {
    for (const packet of this.stalled.splice(0)) this.send(packet)
  }

  private arrive(packet: Packet): void {
    if (!this.isAlive(packet)) return
    if (this.route.isPartitioned) {
      this.stalled.push(packet)
      this.route.affectedCount++
      this.route.stalledLanes.add(this)
    } else packet.deliver()
  }
}

/** A link with the failures of its route. */
export class SimulatedLink implements Link {
  isOpen = false
  private readonly network: Network
  private readonly route: Route
  private readonly toServer: Lane
  private readonly toNode: Lane
  /** The number of the current connection. Replies and messages of earlier ones are lost. */
  private connection = 0
  /** Requests of the connections up to this number are lost. Those of later ones arrive, although the connection may be closed. */
  private lastLostConnection = -1
  private readonly pending = new Set<PendingRequest>()
  private resetListener = () => {}
  private isDead = false
  private readonly onArrival: () => void

  constructor(network: Network, route: Route, onArrival: () => void) {
    this.network = network
    this.route = route
    this.onArrival = onArrival
    const isCurrent = ({ connection }: Packet) => this.isOpen && connection === this.connection
    const isLate = ({ connection, sentAt }: Packet) =>
      connection > this.lastLostConnection &&
      sentAt > route.serverEndedAt &&
      network.scheduler.now - sentAt < MAX_LATE_MS
    this.toServer = new Lane(network, route, (packet) => isCurrent(packet) || isLate(packet))
    this.toNode = new Lane(network, route, isCurrent)
  }

  open(): Promise<void> {
    const { scheduler, choices } = this.network
    const { route } = this
    return new Promise((resolve, reject) => {
      const wait = route.isPartitioned ? CONNECT_TIMEOUT_MS : choices.delay(2 * route.meanDelay)
      scheduler.schedule(wait, () => {
        if (this.isDead) return
        this.onArrival()
        if (route.isPartitioned || route.isRefused) route.affectedCount++
        if (route.isPartitioned) return reject(new ConnectionLostError('the connection attempt timed out'))
        if (route.isRefused) return reject(new ConnectionLostError('the connection was refused'))
        if (!this.isOpen) this.startConnection()
        route.links.add(this)
        resolve()
      })
    })
  }

  private startConnection(): void {
    this.connection++
    this.isOpen = true
    this.toServer.startConnection()
    this.toNode.startConnection()
  }

  request<T>(execute: () => T): Promise<T> {
    return new Promise((resolve, reject) => this.send(execute, resolve, reject))
  }

  private send<T>(execute: () => T, resolve: (result: T) => void, reject: (error: Error) => void): void {
    if (this.isDead) return
    if (!this.isOpen) return reject(new ConnectionLostError())
    const { connection } = this
    const { scheduler } = this.network
    const request: PendingRequest = { connection, reject }
    this.pending.add(request)
    const reply = (settle: () => void) =>
      this.toNode.send({
        connection,
        sentAt: scheduler.now,
        deliver: () => {
          if (!this.pending.delete(request)) return
          this.onArrival()
          settle()
        },
      })
    const run = () => {
      try {
        const result = execute()
        if (this.losesReply(connection)) return
        reply(() => resolve(result))
      } catch (error) {
        reply(() => reject(error as Error))
      }
    }
    const copies = this.countCopies()
    const packet = { connection, sentAt: scheduler.now, deliver: run }
    for (let copy = 0; copy < copies; copy++) this.toServer.send(packet)
  }

  /** Breaks the connection in place of a reply, if the route loses it. */
  private losesReply(connection: number): boolean {
    const { scheduler, choices } = this.network
    if (this.route.lostReplies === 0 || !choices.chance(this.route.lostReplies)) return false
    scheduler.schedule(choices.delay(this.route.meanDelay), () => {
      if (this.connection === connection) this.reset(false)
    })
    return true
  }

  push(deliver: () => void): void {
    const { connection } = this
    if (!this.isOpen || this.isDead) return
    const copies = this.countCopies()
    const arrive = () => {
      if (this.isDead) return
      this.onArrival()
      deliver()
    }
    const packet = { connection, sentAt: this.network.scheduler.now, deliver: arrive }
    for (let copy = 0; copy < copies; copy++) this.toNode.send(packet)
  }

  /** How often a message arrives. */
  private countCopies(): number {
    if (!this.network.choices.chance(this.route.duplicates)) return 1
    this.route.affectedCount++
    return 2
  }

  close(): void {
    if (!this.isDead) this.end(this.network.choices.chance(LATE_REQUESTS_CHANCE))
  }

  /** Closes the connection. Its requests that have not arrived are lost, unless the server still gets them. */
  private end(hasLateRequests: boolean): void {
    if (!hasLateRequests) this.lastLostConnection = this.connection
    this.isOpen = false
    this.route.links.delete(this)
  }

  onReset(listener: () => void): void {
    this.resetListener = listener
  }

  /**
   * The connection breaks, and the node gets an error for each request without a reply. The server executed those that had arrived,
   * and with `hasLateRequests` also executes those that arrive later, possibly after a request of a new connection.
   */
  reset(hasLateRequests: boolean): void {
    if (!this.isOpen || this.isDead) return
    this.route.affectedCount++
    this.end(hasLateRequests)
    this.onArrival()
    const lost = [...this.pending]
    this.pending.clear()
    for (const { reject } of lost) reject(new ConnectionLostError())
    this.resetListener()
  }

  /**
   * The process of the node dies: nothing of this link happens in the node any more. Requests that the operating system has already
   * sent still arrive, unless the machine is gone as well.
   */
  kill(): void {
    this.isDead = true
    this.end(this.network.choices.chance(LATE_REQUESTS_CHANCE))
    this.pending.clear()
  }
}

/** All routes between nodes and servers. */
export class Network {
  readonly scheduler: Scheduler
  readonly choices: Choices
  private readonly routes = new Map<string, Route>()

  constructor(scheduler: Scheduler, choices: Choices) {
    this.scheduler = scheduler
    this.choices = choices
  }

  /** Creates a link, which is not open yet. `onArrival` is called before each event that reaches the node. */
  createLink(node: string, server: string, onArrival: () => void = () => {}): SimulatedLink {
    return new SimulatedLink(this, this.route(node, server), onArrival)
  }

  /** Packets between the node and the server wait until {@link heal}. */
  partition(node: string, server: string): void {
    this.route(node, server).isPartitioned = true
  }

  /** Ends a partition. */
  heal(node: string, server: string): void {
    const route = this.route(node, server)
    route.isPartitioned = false
    const lanes = [...route.stalledLanes]
    route.stalledLanes.clear()
    for (const lane of lanes) lane.resume()
  }

  /**
   * Breaks the connections between the node and the server, or only one of them while the others continue. The server may still execute
   * requests that were on their way.
   */
  reset(node: string, server: string): void {
    const hasLateRequests = this.choices.chance(LATE_REQUESTS_CHANCE)
    const links = [...this.route(node, server).links]
    const isSingle = links.length > 1 && this.choices.chance(SINGLE_RESET_CHANCE)
    for (const link of isSingle ? [this.choices.pick(links)] : links) link.reset(hasLateRequests)
  }

  /** Breaks all connections between the node and a server that ends: it executes nothing that was on its way. */
  resetByServer(node: string, server: string): void {
    const route = this.route(node, server)
    route.serverEndedAt = this.scheduler.now
    for (const link of route.links) link.reset(false)
  }

  /** The server accepts no connections, or accepts them again. */
  refuse(node: string, server: string, isRefused: boolean): void {
    this.route(node, server).isRefused = isRefused
  }

  /** Changes the mean delay of packets; the usual one by default. */
  setDelay(node: string, server: string, meanDelay = MEAN_DELAY_MS): void {
    this.route(node, server).meanDelay = meanDelay
  }

  /** Changes the probability that a message arrives twice. */
  setDuplicates(node: string, server: string, probability: number): void {
    this.route(node, server).duplicates = probability
  }

  /** Changes the probability that a packet is lost and sent again. */
  setLosses(node: string, server: string, probability: number): void {
    this.route(node, server).losses = probability
  }

  /** Changes the probability that a connection breaks between the execution of a request and its reply. */
  setLostReplies(node: string, server: string, probability: number): void {
    this.route(node, server).lostReplies = probability
  }

  /** How many packets and connections between the node and the server were delayed, repeated, refused or broken by failures. */
  affectedCount(node: string, server: string): number {
    return this.route(node, server).affectedCount
  }

  private route(node: string, server: string): Route {
    const name = `${node}-${server}`
    const existing = this.routes.get(name)
    if (existing !== undefined) return existing
    const route = new Route()
    this.routes.set(name, route)
    return route
  }
}
