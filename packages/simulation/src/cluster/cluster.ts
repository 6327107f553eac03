import type { DeadLetter } from '@holdfast/records'
import type { Store } from '@holdfast/store'
import { hashName } from '../../../store/src/text.js'
import { DiskQueueModel } from '../dead-letters/disk-queue-model.js'
import type { OwnQueueModel } from '../dead-letters/own-queue-model.js'
import { createDiskStore } from '../disk/disk-store.js'
import { createProcessFileSystem } from '../disk/process-file-system.js'
import { SimulatedDisk } from '../disk/simulated-disk.js'
import { MicrotaskCrashes } from '../engine/microtask-crashes.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import { Network, type SimulatedLink } from '../network/network.js'
import { type Process, type ProcessPorts, SimulatedNode } from '../process/simulated-node.js'
import type { Server } from '../scenario/scenario.js'
import type { OpenRealDriver } from '../sqlite/simulated-database.js'
import {
  createRedisHost,
  createSimulatedPostgres,
  createSimulatedPostgresStore,
  createSimulatedRedis,
  createSimulatedRedisDriver,
  type PostgresObserver,
  type SimulatedPostgres,
  type SimulatedRedis,
} from '../substitutes/index.js'
import type { ClusterObserver } from './cluster-observer.js'
import { type ConfigChoices, createNodeConfig } from './config.js'
import { NodeDatabase } from './node-database.js'
import { NodeFallback } from './node-fallback.js'
import { observeAppends, observeBreakers, observeSessions } from './observed-store.js'

/** The lease of a dead letter, with a margin for delays. */
const LEASE_MS = 300_000 + 20_000

/**
 * Leases are compared with the wall time of nodes, which must agree within 3 minutes (docs/dead-letters.md): a lease of 5 minutes is
 * renewed every 100 s. Two clocks with this error each still agree, with a margin for delays. Drifts are smaller.
 */
const MAX_WALL_ERROR_MS = 80_000

/** The message of a store that cannot read a file of its configuration. */
const DAMAGED_FILE = /(\/\S+) is not valid JSON; restore a backup, or move the file away/

/** The methods of the store that are about dead letters. */
export const QUEUE_PREFIX = 'deadLetters.'

/** A disk with the store of a node, and its promises. */
export interface NodeDisk {
  readonly disk: SimulatedDisk
  readonly model: DiskQueueModel
}

/** The nodes of a cluster. */
export interface ClusterLayout extends ConfigChoices {
  readonly nodes: number
  /** The nodes that have a store of their own on a disk. The others share PostgreSQL. */
  readonly diskNodes: readonly number[]
  /** The nodes that have a SQLite file of their own. */
  readonly sqliteNodes: readonly number[]
  /** Whether the nodes with PostgreSQL have a disk fallback. */
  readonly hasDiskFallback: boolean
}

/** Nodes, servers and the network between them. */
export class Cluster {
  readonly nodes: SimulatedNode[]
  readonly network: Network
  /** Crashes between two microtasks of a node. */
  readonly crashes = new MicrotaskCrashes()
  readonly postgres = createSimulatedPostgres()
  readonly redis = createSimulatedRedis()
  /** The disks of the nodes that have one, by the name of the node. */
  readonly disks = new Map<string, NodeDisk>()
  /** The SQLite files of the nodes that have one, by the name of the node. */
  readonly databases = new Map<string, NodeDatabase>()
  /** The disk fallbacks of the nodes that have one, by the name of the node. */
  readonly fallbacks = new Map<string, NodeFallback>()
  /** How many statements and commands the servers have rejected. */
  readonly rejections: Record<Server, number> = { store: 0, redis: 0 }
  private readonly redisHost = createRedisHost(this.countingRedis(), () => this.now())
  private readonly executedIds = new Set<string>()
  private readonly scheduler: Scheduler
  private readonly observer: ClusterObserver
  private readonly layout: ClusterLayout
  /** When each node last had trouble with its store; Infinity while it has. */
  private readonly storeTroubleAt = new Map<string, number>()
  private readonly activeTroubles = new Map<string, number>()
  /** When a clock was last so wrong that leases of other nodes seem to have ended. */
  private clockTroubleAt = Number.NEGATIVE_INFINITY

  /** @param openSqlite - opens SQLite files; required if a node has one */
  constructor(
    scheduler: Scheduler,
    choices: Choices,
    layout: ClusterLayout,
    observer: ClusterObserver,
    openSqlite?: OpenRealDriver,
  ) {
    this.scheduler = scheduler
    this.observer = observer
    this.layout = layout
    this.network = new Network(scheduler, choices.fork())
    for (const at of layout.diskNodes) {
      const disk = new SimulatedDisk(scheduler, choices.fork())
      this.disks.set(`n${at}`, { disk, model: new DiskQueueModel(disk) })
    }
    for (const at of layout.sqliteNodes)
      if (openSqlite !== undefined)
        this.databases.set(`n${at}`, new NodeDatabase(openSqlite, choices.fork(), () => scheduler.now))
    for (let at = 0; at < layout.nodes && layout.hasDiskFallback; at++)
      if (!layout.diskNodes.includes(at) && !layout.sqliteNodes.includes(at))
        this.fallbacks.set(`n${at}`, new NodeFallback(new SimulatedDisk(scheduler, choices.fork()), observer))
    this.nodes = Array.from(
      { length: layout.nodes },
      (_, at) =>
        new SimulatedNode(`n${at}`, scheduler, choices.fork(), {
          connect: (process) => this.connect(`n${at}`, process),
          onEntered: () => this.crashes.enter(`n${at}`),
          onStarted: (process, runtime) => observer.onStarted(process, runtime),
          onStartFailed: (process, error) => {
            observer.onStartFailed(process, error)
            this.repair(`n${at}`, error)
          },
        }),
    )
  }

  /** The wall time of a clock that is right. */
  now(): number {
    return START_WALL_MS + this.scheduler.now
  }

  /** A dead letter as the server has it. */
  readEntry(id: string): DeadLetter | undefined {
    const command = { id: `check:${id}`, method: 'deadLetters.get', args: [id, new Date(this.now())] }
    return this.postgres.execute(command, this.now()) as DeadLetter | undefined
  }

  start(): void {
    for (const node of this.nodes) node.start()
  }

  /** Ends the process of a node at once. */
  kill(node: SimulatedNode): void {
    const { process } = node
    if (process === undefined) return
    node.kill()
    this.disks.get(node.name)?.model.onProcessEnded()
    this.databases.get(node.name)?.onProcessEnded()
    this.observer.onKilled(process)
  }

  /** Closes the runtime of a process. Resolves when it is closed, also if that fails. */
  async close(process: Process): Promise<void> {
    this.observer.onClosing(process)
    try {
      await process.runtime?.close()
      if (process.isAlive) this.observer.onClosed(process)
    } catch {
      // The process ends all the same.
    }
  }

  /** The machine of a node loses its power: its process dies, and its disk loses everything that was not flushed. */
  losePower(node: SimulatedNode): void {
    this.kill(node)
    const { disk, model } = this.disks.get(node.name) ?? {}
    if (disk !== undefined) model?.onPowerLost(disk.losePower())
    this.fallbacks.get(node.name)?.disk.losePower()
    const database = this.databases.get(node.name)
    if (database === undefined) return
    database.losePower()
    this.observer.onUnflushedLost(node.name)
  }

  /** The thread of a SQLite store ends. Returns whether there was one. */
  crashThread(node: SimulatedNode): boolean {
    const hasEnded = node.process !== undefined && this.databases.get(node.name)?.crashThread() === true
    if (hasEnded) this.observer.onThreadEnded(node.name)
    return hasEnded
  }

  /** Ends the processes and deletes the files. */
  remove(): void {
    this.crashes.stop()
    for (const node of this.nodes) node.kill()
    for (const { database } of this.databases.values()) database.remove()
  }

  /** The name of the store of a process: nodes with the same name share it. */
  storeOf(process: string): string {
    const [node = ''] = process.split('.')
    return this.disks.has(node) || this.databases.has(node) ? node : 'postgres'
  }

  /** The promises about the dead letters of a node's own store; undefined if it uses the server. */
  ownQueueOf(process: string): OwnQueueModel | undefined {
    const [node = ''] = process.split('.')
    return this.disks.get(node)?.model ?? this.databases.get(node)?.queue
  }

  /** The disk of a node, with its store or its disk fallback. */
  diskOf(node: string): SimulatedDisk | undefined {
    return (this.disks.get(node) ?? this.fallbacks.get(node))?.disk
  }

  /** The id of the dead letter that another id is an alias of. */
  originalOf(id: string): string | undefined {
    const alias = this.postgres.aliases().get(hashName(`dead_letter_alias:${id}`))
    return alias === undefined ? undefined : (JSON.parse(alias) as string)
  }

  /** Checks that something will move the entries of all disk fallbacks. */
  checkFallbacks(): void {
    for (const { name, process } of this.nodes) this.fallbacks.get(name)?.checkScheduled(process)
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

  /** The clock of a node changes. Called before each change. */
  beforeClockChange(): void {
    if (this.isAnyClockWrong()) this.clockTroubleAt = this.scheduler.now
  }

  /** Whether a process has been able to renew its leases: it lives, and its store was available for longer than a lease. */
  couldRenew(process: string): boolean {
    const [node = ''] = process.split('.')
    const isAlive = this.nodes.some((each) => each.process?.name === process)
    const troubleAt = this.storeTroubleAt.get(node) ?? Number.NEGATIVE_INFINITY
    return isAlive && (this.activeTroubles.get(node) ?? 0) === 0 && this.scheduler.now - troubleAt > LEASE_MS
  }

  areClocksRight(): boolean {
    return !this.isAnyClockWrong() && this.scheduler.now - this.clockTroubleAt > 2 * LEASE_MS
  }

  private isAnyClockWrong(): boolean {
    return this.nodes.some(({ wallError }) => Math.abs(wallError) > MAX_WALL_ERROR_MS)
  }

  /** An operator does what the store requires if a disk that lied has damaged a file: the process does not start before. */
  private repair(node: string, error: unknown): void {
    const { disk } = this.disks.get(node) ?? {}
    const path = DAMAGED_FILE.exec(String(error))?.[1]
    if (disk?.hasLied && path !== undefined) disk.moveAway(path)
  }

  private connect(node: string, process: Process): ProcessPorts {
    const { clock } = process
    const store = this.createStore(node, process)
    observeBreakers(process, store, this.observer)
    observeSessions(process, store, this.observer)
    return {
      config: createNodeConfig(node, 'redis://redis:6379', this.layout),
      openStore: async () => {
        await store.open()
        return store
      },
      redisDriver: createSimulatedRedisDriver({
        host: this.redisHost,
        clock,
        connect: () => this.link(node, 'redis', process),
      }),
    }
  }

  private createStore(node: string, process: Process): Store {
    const disk = this.disks.get(node)
    if (disk !== undefined) return this.diskStore(node, disk, process)
    const { observer } = this
    return (
      this.databases.get(node)?.createStore(process, {
        onResolved: (...used) => observer.onSqliteResolved(...used),
        check: (fn) => observer.check(fn),
      }) ?? this.remoteStore(node, process)
    )
  }

  private remoteStore(node: string, process: Process): Store {
    const { clock, random, name } = process
    const store = createSimulatedPostgresStore({
      host: {
        postgres: this.observed(name),
        now: () => this.now(),
        observer: this.journalObserver(name),
      },
      node: name,
      clock,
      random,
      connect: () => this.link(node, 'store', process),
      runLater: (fn) => clock.setTimer(fn, 0),
      fallbackFolder: this.fallbacks.get(node)?.createFolder(process, () => this.crashes.enter(node)),
    })
    observeAppends(process, store, this.observer)
    return store
  }

  private journalObserver(process: string): PostgresObserver {
    const { observer } = this
    return {
      onInserted: ({ table, bodies }, isLate) => observer.onInserted(process, table, bodies, isLate),
      onLost: ({ table, bodies }) => observer.onLost(table, bodies),
      onExpired: (table, count) => observer.onExpired(process, table, count),
      onRejected: () => void this.rejections.store++,
    }
  }

  private diskStore(node: string, { disk, model }: NodeDisk, process: Process): Store {
    const fs = createProcessFileSystem(disk, () => this.crashes.enter(node))
    const { name } = process
    process.onKilled.push(() => fs.kill())
    return createDiskStore(fs, {
      onCalled: (method, args) => {
        if (process.isAlive) model.onCalled(method, args)
      },
      onResolved: (method, args, result) => {
        if (process.isAlive)
          this.observer.onDiskUsed(name, method, () => model.onResolved(name, method, args, result))
      },
      onWarning: (line) => {
        model.warningCount++
        this.observer.onDiskWarning(name, line)
      },
    })
  }

  /** The server, as the requests of a process reach it. A repeated request that was executed before is not reported again. */
  private observed(process: string): SimulatedPostgres {
    const { postgres } = this
    return {
      ...postgres,
      execute: (command, now) => {
        let result: unknown
        try {
          result = postgres.execute(command, now)
        } catch (error) {
          this.rejections.store++
          throw error
        }
        if (!this.executedIds.has(command.id)) {
          if (command.method.startsWith(QUEUE_PREFIX)) this.executedIds.add(command.id)
          this.observer.onStoreExecuted(process, command.method, command.args, result)
        }
        return result
      },
    }
  }

  /** The Redis server, as the commands of all processes reach it. */
  private countingRedis(): SimulatedRedis {
    const { redis } = this
    return {
      ...redis,
      execute: (command, now, connection) => {
        const result = redis.execute(command, now, connection)
        if (result.error !== undefined && redis.faults.size > 0) this.rejections.redis++
        return result
      },
    }
  }

  private link(node: string, server: Server, process: Process): SimulatedLink {
    const link = this.network.createLink(node, server, () => this.crashes.enter(node))
    // Code of a process that has died can still run until the end of the event, and reaches nothing.
    if (process.isAlive) process.onKilled.push(() => link.kill())
    else link.kill()
    return link
  }
}
