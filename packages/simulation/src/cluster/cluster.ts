import type { Holdfast } from '@holdfast/runtime'
import type { Store } from '@holdfast/store'
import { memoryStore } from '../../../store/src/memory/index.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import { Network, type SimulatedLink } from '../network/network.js'
import { remoteStore } from '../network/remote-store.js'
import type { Server } from '../scenario/scenario.js'
import { createNodeConfig } from './config.js'
import { type Process, type ProcessPorts, SimulatedNode } from './simulated-node.js'

/** The lease of a dead letter, with a margin for delays. */
const LEASE_MS = 300_000 + 20_000

/** What happens in a cluster. */
export interface ClusterObserver {
  onStarted(process: Process, runtime: Holdfast): void
  onStartFailed(process: Process, error: unknown): void
  onKilled(process: Process): void
  /** The server of the store has executed a request of a process. */
  onStoreExecuted(
    process: string,
    part: string,
    method: string,
    args: readonly unknown[],
    result: unknown,
  ): void
}

/** Nodes, servers and the network between them. */
export class Cluster {
  readonly nodes: SimulatedNode[]
  readonly network: Network
  /** The data of the store's server. */
  readonly store: Store = memoryStore()
  private readonly scheduler: Scheduler
  private readonly observer: ClusterObserver
  /** When each node last had trouble with its store; Infinity while it has. */
  private readonly storeTroubleAt = new Map<string, number>()
  private readonly activeTroubles = new Map<string, number>()
  private clockTroubleAt = Number.NEGATIVE_INFINITY
  private activeClockTroubles = 0

  constructor(scheduler: Scheduler, choices: Choices, size: number, observer: ClusterObserver) {
    this.scheduler = scheduler
    this.observer = observer
    this.network = new Network(scheduler, choices.fork())
    this.nodes = Array.from(
      { length: size },
      (_, at) =>
        new SimulatedNode(`n${at}`, scheduler, choices.fork(), {
          connect: (process) => this.connect(`n${at}`, process),
          onStarted: (process, runtime) => observer.onStarted(process, runtime),
          onStartFailed: (process, error) => observer.onStartFailed(process, error),
        }),
    )
  }

  /** The wall time of a clock that is right. */
  now(): number {
    return START_WALL_MS + this.scheduler.now
  }

  start(): void {
    for (const node of this.nodes) node.start()
  }

  /** Ends the process of a node at once. */
  kill(node: SimulatedNode): void {
    const { process } = node
    if (process === undefined) return
    node.kill()
    this.observer.onKilled(process)
  }

  /** A fault begins that keeps a node from its store. */
  beginStoreTrouble(node: string): void {
    this.activeTroubles.set(node, (this.activeTroubles.get(node) ?? 0) + 1)
    this.storeTroubleAt.set(node, this.scheduler.now)
  }

  endStoreTrouble(node: string): void {
    this.activeTroubles.set(node, (this.activeTroubles.get(node) ?? 0) - 1)
    this.storeTroubleAt.set(node, this.scheduler.now)
  }

  beginClockTrouble(): void {
    this.activeClockTroubles++
  }

  endClockTrouble(): void {
    this.activeClockTroubles--
    this.clockTroubleAt = this.scheduler.now
  }

  /** Whether a process has been able to renew its leases: it lives, and its store was available for longer than a lease. */
  couldRenew(process: string): boolean {
    const [node = ''] = process.split('.')
    const isAlive = this.nodes.some((each) => each.process?.name === process)
    const troubleAt = this.storeTroubleAt.get(node) ?? Number.NEGATIVE_INFINITY
    return isAlive && (this.activeTroubles.get(node) ?? 0) === 0 && this.scheduler.now - troubleAt > LEASE_MS
  }

  areClocksRight(): boolean {
    return this.activeClockTroubles === 0 && this.scheduler.now - this.clockTroubleAt > 2 * LEASE_MS
  }

  private connect(node: string, process: Process): ProcessPorts {
    const link = this.link(node, 'store', process)
    const store = remoteStore(this.store, link, process.clock, {
      onExecuted: (part, method, args, result) =>
        this.observer.onStoreExecuted(process.name, part, method, args, result),
    })
    return {
      config: createNodeConfig(node, undefined),
      openStore: async () => {
        await store.open()
        return store
      },
    }
  }

  private link(node: string, server: Server, process: Process): SimulatedLink {
    const link = this.network.createLink(node, server)
    process.onKilled.push(() => this.network.removeLink(node, server, link))
    return link
  }
}
