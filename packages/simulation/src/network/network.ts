import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { ConnectionLostError, type Link } from './link.js'

/** How long a connection attempt to a server that does not respond takes. */
const CONNECT_TIMEOUT_MS = 2000

/** The usual delay of a packet. */
const MEAN_DELAY_MS = 1

/** A message on its way. `deliver` runs when it arrives. */
interface Packet {
  readonly connection: number
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
    this.lastArrival = Math.max(this.lastArrival, now + choices.delay(this.route.meanDelay))
    scheduler.schedule(this.lastArrival - now, () => this.arrive(packet))
  }

  /** Sends the packets that waited for the end of a partition. */
  resume(): void {
    for (const packet of this.stalled.splice(0)) this.send(packet)
  }

  private arrive(packet: Packet): void {
    if (!this.isAlive(packet)) return
    if (this.route.isPartitioned) this.stalled.push(packet)
    else packet.deliver()
  }
}

/** A link with the failures of its route. */
export class SimulatedLink implements Link {
  isOpen = false
  private readonly network: Network
  private readonly route: Route
  private readonly toServer: Lane
  private readonly toNode: Lane
  /** The number of the current connection. Packets of earlier ones are lost. */
  private connection = 0
  private readonly pending = new Set<PendingRequest>()
  private resetListener = () => {}
  private isDead = false
  private readonly onArrival: () => void

  constructor(network: Network, route: Route, onArrival: () => void) {
    this.network = network
    this.route = route
    this.onArrival = onArrival
    const isAlive = ({ connection }: Packet) => connection === this.connection || connection < 0
    this.toServer = new Lane(network, route, isAlive)
    this.toNode = new Lane(network, route, isAlive)
  }

  open(): Promise<void> {
    const { scheduler, choices } = this.network
    const { route } = this
    return new Promise((resolve, reject) => {
      const wait = route.isPartitioned ? CONNECT_TIMEOUT_MS : choices.delay(2 * route.meanDelay)
      scheduler.schedule(wait, () => {
        if (this.isDead) return
        this.onArrival()
        if (route.isPartitioned) return reject(new ConnectionLostError('the connection attempt timed out'))
        if (route.isRefused) return reject(new ConnectionLostError('the connection was refused'))
        if (!this.isOpen) this.connection++
        this.isOpen = true
        route.links.add(this)
        resolve()
      })
    })
  }

  request<T>(execute: () => T): Promise<T> {
    return new Promise((resolve, reject) => this.send(execute, resolve, reject))
  }

  private send<T>(execute: () => T, resolve: (result: T) => void, reject: (error: Error) => void): void {
    if (this.isDead) return
    if (!this.isOpen) return reject(new ConnectionLostError())
    const { connection } = this
    const request: PendingRequest = { connection, reject }
    this.pending.add(request)
    const reply = (settle: () => void) =>
      this.toNode.send({
        connection,
        deliver: () => {
          if (!this.pending.delete(request)) return
          this.onArrival()
          settle()
        },
      })
    const run = () => {
      try {
        const result = execute()
        reply(() => resolve(result))
      } catch (error) {
        reply(() => reject(error as Error))
      }
    }
    const copies = this.network.choices.chance(this.route.duplicates) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) this.toServer.send({ connection, deliver: run })
  }

  push(deliver: () => void): void {
    const { connection } = this
    if (!this.isOpen || this.isDead) return
    const copies = this.network.choices.chance(this.route.duplicates) ? 2 : 1
    const arrive = () => {
      if (this.isDead) return
      this.onArrival()
      deliver()
    }
    for (let copy = 0; copy < copies; copy++) this.toNode.send({ connection, deliver: arrive })
  }

  close(): void {
    if (!this.isDead) this.disconnect()
  }

  private disconnect(): void {
    this.isOpen = false
    this.connection++
    this.route.links.delete(this)
  }

  onReset(listener: () => void): void {
    this.resetListener = listener
  }

  /** The connection breaks. The server gets the requests that have arrived, and the node gets an error for each of the others. */
  reset(): void {
    if (!this.isOpen || this.isDead) return
    this.close()
    this.onArrival()
    const lost = [...this.pending]
    this.pending.clear()
    for (const { reject } of lost) reject(new ConnectionLostError())
    this.resetListener()
  }

  /** The process of the node dies: nothing of this link happens in the node any more. */
  kill(): void {
    this.isDead = true
    // Requests that the operating system has already sent still arrive, unless the machine is gone as well.
    if (this.network.choices.chance(0.5)) this.disconnect()
    this.isOpen = false
    this.route.links.delete(this)
    this.pending.clear()
  }

  /** Sends everything that waited for the end of a partition. */
  resume(): void {
    this.toServer.resume()
    this.toNode.resume()
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
    this.route(node, server).isPartitioned = false
    for (const link of this.route(node, server).links) link.resume()
  }

  /** Breaks all connections between the node and the server. */
  reset(node: string, server: string): void {
    for (const link of this.route(node, server).links) link.reset()
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

  private route(node: string, server: string): Route {
    const name = `${node}-${server}`
    const existing = this.routes.get(name)
    if (existing !== undefined) return existing
    const route = new Route()
    this.routes.set(name, route)
    return route
  }
}
