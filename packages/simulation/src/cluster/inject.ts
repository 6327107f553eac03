import type { Scheduler } from '../engine/scheduler.js'
import type { SimulatedNode } from '../process/simulated-node.js'
import type { Upstreams } from '../process/upstreams.js'
import type { Fault, Server } from '../scenario/scenario.js'
import type { Cluster } from './cluster.js'
import { FaultEffects } from './fault-effects.js'

/** How long the close of a runtime may take before its process is killed, as a service manager does. */
const STOP_TIMEOUT_MS = 90_000

/** Makes the faults of a scenario happen. */
export class FaultInjector {
  readonly effects: FaultEffects
  private readonly scheduler: Scheduler
  private readonly cluster: Cluster
  private readonly upstreams: Upstreams
  private readonly onFault: (text: string) => void

  constructor(scheduler: Scheduler, cluster: Cluster, upstreams: Upstreams, onFault: (text: string) => void) {
    this.scheduler = scheduler
    this.cluster = cluster
    this.upstreams = upstreams
    this.onFault = onFault
    this.effects = new FaultEffects(scheduler)
  }

  inject(fault: Fault): void {
    this.onFault(describeFault(fault))
    const { cluster, scheduler, effects } = this
    this.observeEffect(fault)
    const { network } = cluster
    switch (fault.kind) {
      case 'crash': {
        const node = this.node(fault.node)
        cluster.kill(node)
        return node.startLater(fault.downMs)
      }
      case 'restart':
        return this.restart(this.node(fault.node), fault.downMs)
      case 'await_crash': {
        const node = this.node(fault.node)
        return cluster.crashes.arm(node.name, fault.microtask, () => {
          this.onFault(`crash of ${node.process?.name}`)
          effects.add(fault)
          if (fault.isPowerFailure) cluster.losePower(node)
          else cluster.kill(node)
          node.startLater(fault.downMs)
        })
      }
      case 'power_failure':
        return this.losePower(this.node(fault.node), fault.downMs)
      case 'lying_disk': {
        const node = this.node(fault.node)
        const { disk } = cluster.disks.get(node.name) ?? {}
        if (disk !== undefined) disk.isLying = true
        scheduler.schedule(fault.ms, () => this.losePower(node, fault.downMs))
        return
      }
      case 'disk_fault': {
        const disk = cluster.diskOf(this.node(fault.node).name)
        disk?.beginFault(fault.fault)
        scheduler.schedule(fault.ms, () => disk?.endFault(fault.fault))
        return
      }
      case 'sqlite_fault': {
        const { name } = this.node(fault.node)
        const database = cluster.databases.get(name)?.database
        cluster.beginStoreTrouble(name)
        database?.beginFault(fault.fault)
        scheduler.schedule(fault.ms, () => {
          database?.endFault(fault.fault)
          cluster.endStoreTrouble(name)
        })
        return
      }
      case 'commit_crash': {
        const node = this.node(fault.node)
        const database = cluster.databases.get(node.name)?.database
        return database?.crashAtCommit(fault.commit, fault.isBefore, () => this.crashAtCommit(fault, node))
      }
      case 'partition':
        return this.during(fault.ms, [this.node(fault.node)], fault.server, (node, isOn) => {
          if (isOn) network.partition(node, fault.server)
          else network.heal(node, fault.server)
        })
      case 'reset':
        return this.during(0, [this.node(fault.node)], fault.server, (node) =>
          network.reset(node, fault.server),
        )
      case 'slow':
        return this.during(fault.ms, [this.node(fault.node)], fault.server, (node, isOn) =>
          network.setDelay(node, fault.server, isOn ? fault.delay : undefined),
        )
      case 'duplicate':
        return this.during(fault.ms, [this.node(fault.node)], fault.server, (node, isOn) =>
          network.setDuplicates(node, fault.server, isOn ? 0.2 : 0),
        )
      case 'loss':
        return this.during(fault.ms, [this.node(fault.node)], fault.server, (node, isOn) =>
          network.setLosses(node, fault.server, isOn ? fault.losses : 0),
        )
      case 'lost_reply':
        return this.during(fault.ms, [this.node(fault.node)], fault.server, (node, isOn) =>
          network.setLostReplies(node, fault.server, isOn ? fault.losses : 0),
        )
      case 'server_down':
        return this.during(fault.ms, cluster.nodes, fault.server, (node, isOn) => {
          network.refuse(node, fault.server, isOn)
          if (isOn) network.resetByServer(node, fault.server)
        })
      case 'server_crash':
        for (const { name } of cluster.nodes) network.resetByServer(name, fault.server)
        if (fault.server === 'redis') cluster.redis.restart(fault.loss)
        else cluster.postgres.crash(cluster.now())
        return
      case 'store_fault':
        cluster.postgres.setFault(fault.fault, true)
        return this.during(fault.ms, cluster.nodes, 'store', (_node, isOn) => {
          if (!isOn) cluster.postgres.setFault(fault.fault, false)
        })
      case 'redis_fault':
        cluster.redis.setFault(fault.fault, true)
        scheduler.schedule(fault.ms, () => cluster.redis.setFault(fault.fault, false))
        return
      case 'upstream_down':
        this.upstreams.beginOutage(fault.operation)
        scheduler.schedule(fault.ms, () => this.upstreams.endOutage(fault.operation))
        return
      case 'clock_step':
      case 'clock_drift': {
        const node = this.node(fault.node)
        cluster.beforeClockChange()
        if (fault.kind === 'clock_step') node.stepClock(fault.step)
        else node.driftClock(fault.rate)
        scheduler.schedule(fault.ms, () => {
          cluster.beforeClockChange()
          node.correctClock()
        })
      }
    }
  }

  /** Counts the fault if it has an effect. Called before it happens. */
  private observeEffect(fault: Fault): void {
    const { cluster, effects, upstreams } = this
    switch (fault.kind) {
      case 'crash':
      case 'restart':
      case 'power_failure':
      case 'clock_step':
      case 'clock_drift':
        if (this.node(fault.node).process !== undefined) effects.add(fault)
        return
      case 'await_crash':
      case 'commit_crash':
        // They are counted when they happen.
        return
      case 'sqlite_fault': {
        const database = cluster.databases.get(this.node(fault.node).name)?.database
        if (database !== undefined) effects.addIfGrown(fault, fault.ms, () => database.failureCount)
        return
      }
      case 'lying_disk':
      case 'disk_fault': {
        const disk = cluster.diskOf(this.node(fault.node).name)
        if (disk !== undefined)
          effects.addIfGrown(fault, fault.ms, () =>
            fault.kind === 'lying_disk' ? disk.lieCount : disk.failureCount,
          )
        return
      }
      case 'partition':
      case 'reset':
      case 'slow':
      case 'duplicate':
      case 'loss':
      case 'lost_reply': {
        const { name } = this.node(fault.node)
        const ms = fault.kind === 'reset' ? 0 : fault.ms
        return effects.addIfGrown(fault, ms, () => cluster.network.affectedCount(name, fault.server))
      }
      case 'server_down':
      case 'server_crash': {
        const ms = fault.kind === 'server_crash' ? 0 : fault.ms
        return effects.addIfGrown(fault, ms, () =>
          cluster.nodes.reduce((sum, { name }) => sum + cluster.network.affectedCount(name, fault.server), 0),
        )
      }
      case 'store_fault':
      case 'redis_fault': {
        const server = fault.kind === 'store_fault' ? 'store' : 'redis'
        return effects.addIfGrown(fault, fault.ms, () => cluster.rejections[server])
      }
      case 'upstream_down':
        return effects.addIfGrown(fault, fault.ms, () => upstreams.outageFailures.get(fault.operation) ?? 0)
    }
  }

  private node(at: number): SimulatedNode {
    return this.cluster.nodes[at % this.cluster.nodes.length] as SimulatedNode
  }

  /** Ends a thread, a process or a machine. */
  private crashAtCommit(fault: Extract<Fault, { kind: 'commit_crash' }>, node: SimulatedNode): void {
    const { cluster, effects } = this
    if (node.process === undefined) return
    this.onFault(`crash of the ${fault.target} of ${node.process.name}`)
    if (fault.target === 'thread') {
      if (cluster.crashThread(node)) effects.add(fault)
      return
    }
    effects.add(fault)
    if (fault.target === 'machine') cluster.losePower(node)
    else cluster.kill(node)
    node.startLater(fault.downMs)
  }

  private losePower(node: SimulatedNode, downMs: number): void {
    this.cluster.losePower(node)
    node.startLater(downMs)
  }

  /** Closes the runtime of a node, and starts a new process. */
  private restart(node: SimulatedNode, downMs: number): void {
    const { process } = node
    const stop = () => {
      if (node.process !== process) return
      this.cluster.kill(node)
      node.startLater(downMs)
    }
    if (process?.runtime === undefined) return stop()
    void this.cluster.close(process).then(stop)
    this.scheduler.schedule(STOP_TIMEOUT_MS, stop)
  }

  /** Applies a fault of the network to nodes for a time. */
  private during(
    ms: number,
    nodes: readonly SimulatedNode[],
    server: Server,
    apply: (node: string, isOn: boolean) => void,
  ): void {
    for (const { name } of nodes) {
      if (server === 'store') this.cluster.beginStoreTrouble(name)
      apply(name, true)
      this.scheduler.schedule(ms, () => {
        apply(name, false)
        if (server === 'store') this.cluster.endStoreTrouble(name)
      })
    }
  }
}

/** A fault in one line. */
export function describeFault(fault: Fault): string {
  const { at: _at, kind, ...details } = fault
  const fields = Object.entries(details).map(([name, value]) => `${name}=${format(name, value)}`)
  return [kind, ...fields].join(' ')
}

const format = (name: string, value: string | number | boolean): string =>
  name === 'node' ? `n${value}` : String(typeof value === 'number' ? Math.round(value * 1000) / 1000 : value)
