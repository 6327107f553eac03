import type { DeadLetter } from '@holdfast/records'
import type { Holdfast } from '@holdfast/runtime'
import { type DeadLetterStats, KeyRing } from '@holdfast/store'
import { openStoredLayer } from '../../../config/src/live-changes/member-secrets.js'
import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import { type Process, SimulatedNode } from '../process/simulated-node.js'
import { createSimulatedPostgres } from '../substitutes/index.js'
import type { BatchModel } from './batch-model.js'
import { CallFaults } from './call-faults.js'
import { LayerModel } from './layer-model.js'
import { LeaseModel } from './lease-model.js'
import { PeriodicModel } from './periodic-model.js'
import { QueueModel } from './queue-model.js'
import { RequestModel } from './request-model.js'
import { readRunningReplays } from './running-replays.js'
import {
  createSmallConfig,
  END_MS,
  FAULTS_END_MS,
  NODE_COUNT,
  planSettings,
  REFRESH_INTERVAL_MS,
  type SmallSettings,
} from './settings.js'
import { type StoreCall, StorePort } from './store-port.js'

/** How often the state of all processes is checked. */
const CHECK_INTERVAL_MS = 4000

/** After this time without a fault of a call, a process has repeated what failed. */
const RECOVERED_MS = 15_000

/** How long a close may take: 10 s for active calls, the settlements of their entries, and slow calls. */
const MAX_CLOSE_MS = 40_000

/** Ends the run of the scheduler. */
class Stop extends Error {}

/** What the workload does when a process starts. */
export type OnProcessStarted = (process: Process, runtime: Holdfast) => void

/** Three processes with one store, whose single calls fail, and the models of their promises. */
export class SmallCluster {
  readonly scheduler: Scheduler
  readonly choices: Choices
  readonly settings: SmallSettings
  readonly nodes: SimulatedNode[]
  readonly faults: CallFaults
  readonly port: StorePort
  readonly leases: LeaseModel
  readonly layers: LayerModel
  readonly queue: QueueModel
  readonly requests: RequestModel
  readonly periodic: PeriodicModel
  /** The batch of each process that runs one. */
  readonly batches = new Map<string, BatchModel>()
  /** The entries, with their process, that the workload is requesting or replaying one by one, without a batch. */
  readonly singleRequests = new Set<string>()
  onProcessStarted: OnProcessStarted = () => {}
  onStoreCalled: (call: StoreCall) => void = () => {}
  private readonly closing = new Set<string>()
  private readonly trace: (subject: string, text: string) => void
  private violation: Violation | undefined

  constructor(seed: number, trace: (subject: string, text: string) => void) {
    const choices = new Choices(seed ^ 0x1ea5e)
    this.choices = choices
    this.trace = trace
    this.scheduler = new Scheduler(choices.fork().random)
    const now = () => this.scheduler.now
    this.settings = planSettings(choices)
    const keys = this.settings.keysOf(1)
    this.leases = new LeaseModel(now, (process) => this.isAlive(process))
    this.layers = new LayerModel(now, (layer) => openStoredLayer(layer, keys))
    this.queue = new QueueModel(this.settings.maxEntries, new KeyRing(keys))
    this.requests = new RequestModel(this.queue, this.leases, now)
    this.periodic = new PeriodicModel(now)
    this.faults = new CallFaults(choices.fork())
    const parts = {
      postgres: createSimulatedPostgres(),
      scheduler: this.scheduler,
      choices: choices.fork(),
      faults: this.faults,
    }
    this.port = new StorePort(parts, this.settings.traits, {
      onCalled: (call) => this.check(() => this.onCalled(call)),
      onExecuted: (call, result) => this.check(() => this.onExecuted(call, result)),
      onRejected: (call) => this.leases.onRejected(call),
      onReplied: (call, hasFailed, result) => this.check(() => this.onReplied(call, hasFailed, result)),
      onNotified: (process) => this.requests.onNotified(process),
    })
    this.nodes = Array.from(
      { length: NODE_COUNT },
      (_, at) =>
        new SimulatedNode(
          `n${at}`,
          this.scheduler,
          choices.fork(),
          {
            connect: (process) => ({
              config: createSmallConfig(at, this.settings),
              openStore: async () => this.port.createStore(process),
            }),
            onEntered: () => {},
            onStarted: (process, runtime) => this.onStarted(process, runtime),
            onStartFailed: (process, error) => trace(process.name, `did not start: ${String(error)}`),
          },
          REFRESH_INTERVAL_MS,
        ),
    )
  }

  /** Runs a check, and ends the run if it finds a violation. */
  check(fn: () => void): void {
    try {
      fn()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.violation ??= error
    }
  }

  /** Runs a check, unless the process has died. */
  checkAlive(process: Process, fn: () => void): void {
    if (process.isAlive) this.check(fn)
  }

  isClosing(process: string): boolean {
    return this.closing.has(process)
  }

  /** An entry as the store has it. */
  readEntry(id: string): DeadLetter | undefined {
    const at = START_WALL_MS + this.scheduler.now
    const command = { id: `check:${id}`, method: 'deadLetters.get', args: [id, new Date(at)] }
    return this.port.postgres.execute(command, at) as DeadLetter | undefined
  }

  /** Ends the process of a node at once. */
  kill(node: SimulatedNode): void {
    const { process } = node
    if (process === undefined) return
    this.trace(process.name, 'ended')
    node.kill()
    this.onEnded(process.name, this.scheduler.now - RECOVERED_MS)
  }

  /** Closes the runtime of a node. */
  async close(node: SimulatedNode): Promise<void> {
    const { process, runtime } = node
    if (process === undefined || runtime === undefined || this.closing.has(process.name)) return
    const { name } = process
    this.trace(name, 'closes')
    this.closing.add(name)
    this.leases.onClosing(name)
    this.batches.get(name)?.stop()
    let isClosed = false
    this.scheduler.schedule(MAX_CLOSE_MS, () =>
      this.check(() => {
        if (!isClosed && process.isAlive)
          throw new Violation('hangs', `${name} has not closed in ${MAX_CLOSE_MS} ms`)
      }),
    )
    await runtime.close()
    isClosed = true
    if (!process.isAlive) return
    this.check(() => {
      this.leases.checkReleased(name)
      this.periodic.onClosed(name)
      if (process.clock.timerCount > 0)
        throw new Violation('memory', `${name} has ${process.clock.timerCount} timers after its close`)
    })
    this.onEnded(name, this.scheduler.now - RECOVERED_MS)
    // A closed process must not do anything any more, so it stays for a moment.
    this.scheduler.schedule(5000, () => {
      if (node.process === process) node.kill()
    })
  }

  /** Runs until the end. Returns the violation. */
  run(onEvent: () => void): Violation | undefined {
    const { scheduler, faults } = this
    scheduler.schedule(3000, () => {
      faults.isOn = true
    })
    scheduler.schedule(FAULTS_END_MS, () => {
      faults.isOn = false
    })
    for (let at = CHECK_INTERVAL_MS; at < END_MS; at += CHECK_INTERVAL_MS)
      scheduler.schedule(at, () => this.check(() => this.checkState()))
    for (const node of this.nodes) node.start()
    try {
      scheduler.runUntil(END_MS, () => {
        this.check(() => {
          this.leases.check()
          this.requests.checkNotified((process) => this.isAlive(process))
        })
        if (this.violation !== undefined) throw new Stop()
        onEvent()
      })
      this.check(() => this.checkEnd())
    } catch (error) {
      if (!(error instanceof Stop)) throw error
    } finally {
      for (const node of this.nodes) node.kill()
    }
    return this.violation
  }

  private isAlive(process: string): boolean {
    return this.nodes.some((node) => node.process?.name === process) && !this.closing.has(process)
  }

  private onStarted(process: Process, runtime: Holdfast): void {
    const { name } = process
    this.trace(name, 'started')
    this.periodic.onStarted(name)
    this.queue.onStarted(name)
    const on = (
      type: Parameters<typeof runtime.events.on>[0],
      fn: (context: Record<string, unknown>) => void,
    ) => runtime.events.on(type, ({ context }) => this.checkAlive(process, () => fn(context ?? {})))
    const { results } = this.leases
    on('dead_letter_replayed', ({ dlq_id: id }) => results.onReported(name, String(id), 'completed'))
    on('dead_letter_failed', ({ dlq_id: id }) => {
      if (typeof id === 'string') results.onReported(name, id, 'failed')
    })
    on('dead_letter_enqueued', ({ dlq_id: id }) => this.queue.onEnqueuedEvent(String(id)))
    on('storage_warning', ({ reason, entries }) => {
      if (reason === 'dead_letters') this.queue.onWarning(name, Number(entries))
    })
    on('config_reloaded', ({ version }) => {
      if (version !== undefined) this.layers.onReported(name, Number(version))
    })
    this.onProcessStarted(process, runtime)
  }

  private onCalled(call: StoreCall): void {
    this.leases.onCalled(call)
    this.periodic.onCalled(call)
    this.requests.onCalled(call)
    this.onStoreCalled(call)
  }

  private onExecuted(call: StoreCall, result: unknown): void {
    this.trace('store', `${call.process} ${call.method}`)
    this.leases.onExecuted(call, result)
    this.queue.onExecuted(call, result)
    this.layers.onExecuted(call, result)
    const isSingle =
      call.method === 'deadLetters.request' &&
      this.singleRequests.has(`${call.process} ${String(call.args[0])}`)
    if (!isSingle) this.batches.get(call.process)?.onExecuted(call, result)
  }

  private onReplied(call: StoreCall, hasFailed: boolean, result: unknown): void {
    this.leases.onReplied(call, hasFailed, result)
    this.batches.get(call.process)?.onReplied(call, hasFailed)
    if (call.method === 'deadLetters.add' && !hasFailed)
      this.queue.onInsertReplied(call.process, call.args[0] as DeadLetter[], this.scheduler.now)
    if (call.method !== 'deadLetters.stats') return
    if (hasFailed) this.queue.onCountFailed(call.process)
    else this.queue.onCounted(call.process, result as DeadLetterStats)
  }

  /** A process has died or is closed. What it did before a time is complete. */
  private onEnded(process: string, before: number): void {
    this.check(() => {
      this.leases.results.checkReported(process, before)
      this.queue.checkReported(process, before)
      this.layers.checkAudited(process, before)
    })
    this.leases.onEnded(process)
    this.batches.delete(process)
  }

  private checkState(): void {
    const workers: string[] = []
    for (const { name, process, runtime } of this.nodes) {
      if (process === undefined || runtime === undefined || this.closing.has(process.name)) continue
      this.periodic.check(process.name)
      this.layers.checkPool(process.name, runtime)
      this.leases.checkRunning(process.name, readRunningReplays(runtime))
      if (!this.port.isFaultless(process.name, RECOVERED_MS) || process.clock.now() < RECOVERED_MS) continue
      this.layers.checkKnown(process.name, runtime)
      if (name !== 'n0') workers.push(process.name)
    }
    this.requests.check(workers, CHECK_INTERVAL_MS)
    for (const batch of this.batches.values()) batch.check()
  }

  private checkEnd(): void {
    this.queue.checkAll((id) => this.readEntry(id))
    for (const { process, name } of this.nodes) {
      if (process?.runtime === undefined) throw new Violation('converges', `${name} does not run at the end`)
      this.leases.results.checkReported(process.name, END_MS - RECOVERED_MS)
      this.queue.checkReported(process.name, END_MS - RECOVERED_MS)
      this.layers.checkAudited(process.name, END_MS - RECOVERED_MS)
      this.layers.checkKnown(process.name, process.runtime)
      if (this.batches.has(process.name))
        throw new Violation('hangs', `the batch of ${process.name} has not ended`)
    }
  }
}
