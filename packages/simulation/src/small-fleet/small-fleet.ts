import type { Holdfast } from '@holdfast/runtime'
import type { Store } from '@holdfast/store'
import { HoldfastError } from 'holdfast'
import { APPEND, BORROW, HEARTBEAT } from '../../../fleet/src/lua/scripts.js'
import type { RedisClient, RedisDriver } from '../../../fleet/src/redis-client.js'
import { memoryStore } from '../../../store/src/memory/index.js'
import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import { BUDGET_OPERATION, BudgetModel, SHARED_BUDGET } from '../invariants/budget-model.js'
import { FleetEventModel } from '../invariants/fleet-event-model.js'
import { FaultyLink, type RequestFault } from '../network/faulty-link.js'
import { type Process, SimulatedNode } from '../process/simulated-node.js'
import { createSimulatedRedis } from '../substitutes/index.js'
import { createRedisHost, createSimulatedRedisDriver } from '../substitutes/redis/client.js'
import { HeartbeatModel } from './heartbeat-model.js'
import { QUORUM_OPERATION, SHARED_BREAKERS, SharedBreakers } from './shared-breakers.js'

const NODE_COUNT = 2
const HEARTBEAT_MS = 3000

/** Commands fail until this time. Then the nodes have time to recover. */
const FAULTS_END_MS = 110_000
const END_MS = 130_000

/** How often the state of the nodes is checked. */
const CHECK_INTERVAL_MS = 500

/** Bursts of calls that need retries, and pauses in which the fleet gets new ones. */
const BURSTS = 22
const BURST_MS = 900
const MAX_BURST_CALLS = 7

/** The share of calls that return their first retry to the budget. */
const RETURNED_SHARE = 0.2

/** How often commands fail. Those of the budget, of the stream and of the membership are few, so their faults are frequent. */
const FAULT_SHARE = new Map([
  [BORROW.sha, 0.3],
  [BORROW.text, 0.3],
  [APPEND.sha, 0.12],
  [APPEND.text, 0.12],
  [HEARTBEAT.sha, 0.12],
])
const OTHER_FAULT_SHARE = 0.01
const FAULTS: readonly RequestFault[] = ['not_executed', 'lost_reply', 'rejected', 'slow']

/** A Redis that no connection reaches for longer than three heartbeats forgets the nodes. Both reconnect within the last time. */
const OUTAGE_AT_MS = [15_000, 80_000] as const
const OUTAGE_MS = [9500, 14_000] as const
const RECONNECTED_WITHIN_MS = 8000

/** How often the store cannot read the live changes, after the nodes have started. */
const STORE_FAULT_SHARE = 0.5
const START_MS = 1000

/** How often, around the outage, the nodes call a service that only one of them sees failing. */
const QUORUM_CALL_MS = 1200
const BEFORE_OUTAGE_MS = 8000

/** The share of lost connections during which the other node ejects a member, and the time until then. */
const EJECTION_SHARE = 0.5
const MAX_EJECTION_MS = 50

/** Ends the run of the scheduler. */
class Stop extends Error {}

/** The result of a run. */
export interface SmallFleetResult {
  readonly violation: Violation | undefined
  readonly stats: Record<string, number>
}

/**
 * Two processes with one Redis, of whose commands single ones fail: a command is not executed, its reply is lost with the connection,
 * it is rejected, or it is slow. Once, no connection reaches Redis. Everything that a node repeats must continue after each of these:
 * requests for retries, events, heartbeats and connections.
 */
class SmallFleet {
  readonly scheduler: Scheduler
  private readonly choices: Choices
  private readonly nodes: SimulatedNode[]
  private readonly budgets: BudgetModel
  private readonly events: FleetEventModel
  private readonly heartbeats: HeartbeatModel
  private readonly sharedBreakers: SharedBreakers
  private readonly outage: { readonly at: number; readonly end: number }
  private readonly links = new Set<FaultyLink>()
  private readonly trace: (subject: string, text: string) => void
  private violation: Violation | undefined
  private faultCount = 0

  constructor(seed: number, trace: (subject: string, text: string) => void) {
    this.trace = trace
    const choices = new Choices(seed ^ 0xf1ee7)
    this.choices = choices
    const scheduler = new Scheduler(choices.fork().random)
    this.scheduler = scheduler
    const redis = createSimulatedRedis()
    const check = (fn: () => void) => this.check(fn)
    this.heartbeats = new HeartbeatModel(redis, HEARTBEAT_MS, () => scheduler.now)
    const outageAt = choices.between(...OUTAGE_AT_MS)
    this.outage = { at: outageAt, end: outageAt + choices.between(...OUTAGE_MS) }
    this.sharedBreakers = new SharedBreakers({
      redis,
      heartbeatMs: HEARTBEAT_MS,
      now: () => scheduler.now,
      redisNow: () => START_WALL_MS + scheduler.now,
      silentMs: (node) => this.heartbeats.silentMs(node),
    })
    this.events = new FleetEventModel(redis, check, () => scheduler.now, true)
    this.budgets = new BudgetModel(check)
    const host = createRedisHost(redis, () => START_WALL_MS + scheduler.now)
    this.nodes = Array.from(
      { length: NODE_COUNT },
      (_, at) =>
        new SimulatedNode(`n${at}`, scheduler, choices.fork(), {
          connect: (process) => ({
            config: createFleetConfig(`n${at}`),
            openStore: async () => this.createStore(),
            redisDriver: this.createDriver(host, process),
          }),
          onEntered: () => {},
          onStarted: (process, runtime) => this.onStarted(process, runtime),
          onStartFailed: (process, error) => trace(process.name, `did not start: ${String(error)}`),
        }),
    )
  }

  /** Runs until the end. */
  run(onEvent: () => void): SmallFleetResult {
    const { scheduler, nodes, choices } = this
    for (const node of nodes) {
      node.start()
      for (let burst = 0; burst < BURSTS; burst++) {
        const at = choices.between(1000, END_MS - 5000)
        const isFailing = choices.chance(0.8)
        for (let calls = choices.below(MAX_BURST_CALLS + 1); calls > 0; calls--)
          scheduler.schedule(at + choices.between(0, BURST_MS), () => this.call(node, isFailing))
      }
    }
    const [failing, healthy] = (choices.chance(0.5) ? nodes : nodes.toReversed()) as [
      SimulatedNode,
      SimulatedNode,
    ]
    const { at: outageAt, end: outageEnd } = this.outage
    for (const node of nodes)
      for (
        let at = outageAt - BEFORE_OUTAGE_MS;
        at < outageEnd + RECONNECTED_WITHIN_MS;
        at += choices.between(0, 2 * QUORUM_CALL_MS)
      )
        scheduler.schedule(at, () => this.callQuorum(node, node === failing))
    scheduler.schedule(this.outage.at, () => {
      for (const link of this.links) link.reset()
    })
    scheduler.schedule(this.outage.end, () => this.heartbeats.onOutageEnded())
    for (let at = CHECK_INTERVAL_MS; at < END_MS; at += CHECK_INTERVAL_MS)
      scheduler.schedule(at, () =>
        this.check(() => {
          this.events.checkSent(nodes)
          if (!this.isOutage()) this.heartbeats.check(nodes)
          this.sharedBreakers.check(nodes, healthy, this.isOutage())
        }),
      )
    try {
      scheduler.runUntil(END_MS, () => {
        if (this.violation !== undefined) throw new Stop()
        onEvent()
      })
      this.check(() => this.checkEnd())
    } catch (error) {
      if (!(error instanceof Stop)) throw error
    } finally {
      for (const node of nodes) node.kill()
    }
    return {
      violation: this.violation,
      stats: {
        smallFleetSchedulerEvents: scheduler.eventCount,
        smallFleetFaults: this.faultCount,
        smallFleetEjections: this.sharedBreakers.ejected.length,
        smallFleetLoneNodes: Number(this.sharedBreakers.wasAlone),
        smallFleetRetries: this.budgets.takenCount,
        smallFleetDeniedRetries: this.budgets.deniedCount,
        smallFleetEventsStored: this.events.storedCount,
      },
    }
  }

  private check(fn: () => void): void {
    try {
      fn()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.violation ??= error
    }
  }

  private onStarted(process: Process, runtime: Holdfast): void {
    this.trace(process.name, 'started')
    this.budgets.onStarted(process, runtime)
    this.events.onStarted(process, runtime)
  }

  private call({ process, runtime }: SimulatedNode, isFailing: boolean): void {
    if (process === undefined || runtime === undefined) return
    const fails = isFailing && this.choices.chance(0.9)
    const call = () => {
      if (fails) throw Object.assign(new Error('the upstream does not respond'), { code: 'ECONNRESET' })
    }
    // A retry whose `beforeRetry` fails is returned to the budget.
    const beforeRetry = () => {
      throw new Error('the retry is not wanted')
    }
    const options = this.choices.chance(RETURNED_SHARE) ? { retry: { beforeRetry } } : {}
    runtime.run(BUDGET_OPERATION, call, options).catch(() => {})
  }

  private callQuorum({ runtime }: SimulatedNode, isFailing: boolean): void {
    const call = () => {
      if (isFailing)
        throw Object.assign(new Error('this node does not reach the service'), { code: 'ECONNRESET' })
    }
    runtime?.run(QUORUM_OPERATION, call).catch(() => {})
  }

  private isOutage(): boolean {
    const { now } = this.scheduler
    return now >= this.outage.at && now < this.outage.end
  }

  /** A driver whose clients tell their connection which fault the next command has. */
  private createDriver(host: ReturnType<typeof createRedisHost>, process: Process): RedisDriver {
    let next: RequestFault | undefined
    const takeFault = () => {
      const fault = next
      next = undefined
      return fault
    }
    const driver = createSimulatedRedisDriver({
      host,
      clock: process.clock,
      connect: () => {
        const link = new FaultyLink(this.scheduler, this.choices, takeFault, () => this.isOutage())
        this.links.add(link)
        return link
      },
    })
    const plan = (command: string, script: unknown) => {
      next = this.planFault(process, command, script)
    }
    const load = async () => {
      const loaded = await driver.load()
      const { Redis } = loaded as unknown as { Redis: new (settings: object) => RedisClient }
      function createClient(settings: object): RedisClient {
        const client = new Redis(settings)
        const call = client.call.bind(client)
        client.call = (command, ...args) => {
          plan(command, args[0])
          return call(command, ...args)
        }
        return client
      }
      return { ...loaded, Redis: createClient, Cluster: createClient } as unknown as typeof loaded
    }
    return { ...driver, load }
  }

  /** A store in memory that at times cannot read the live changes, which a node reads when it is connected again. */
  private createStore(): Store {
    const store = memoryStore()
    const { layers } = store
    const latest = layers.latest.bind(layers)
    layers.latest = async () => {
      const { now } = this.scheduler
      if (now > START_MS && now < FAULTS_END_MS && this.choices.chance(STORE_FAULT_SHARE))
        throw new HoldfastError('STORE_UNAVAILABLE', 'the simulated store cannot be read', { status: 503 })
      return latest()
    }
    return store
  }

  private planFault(process: Process, command: string, script: unknown): RequestFault | undefined {
    const { now } = this.scheduler
    const { at, end } = this.outage
    if (now > FAULTS_END_MS || (now >= at && now < end + RECONNECTED_WITHIN_MS)) return undefined
    const share = FAULT_SHARE.get(String(script)) ?? OTHER_FAULT_SHARE
    if (!this.choices.chance(share)) return undefined
    this.faultCount++
    const fault = this.choices.pick(FAULTS)
    const isLost = fault === 'not_executed' || fault === 'lost_reply'
    if (isLost && this.choices.chance(EJECTION_SHARE)) this.ejectMember(process)
    this.trace(process.name, `${command} ${fault}`)
    return fault
  }

  /** Another node ejects a member while a process connects again. */
  private ejectMember(process: Process): void {
    this.scheduler.schedule(this.choices.between(0, MAX_EJECTION_MS), () => {
      const runtime = this.nodes.find((node) => node.process !== process)?.runtime
      if (runtime !== undefined) this.sharedBreakers.eject(runtime)
    })
  }

  private checkEnd(): void {
    this.events.checkSent(this.nodes)
    this.budgets.checkAtRest(this.nodes)
    this.sharedBreakers.checkEnd()
    for (const { name, runtime } of this.nodes) {
      const { up, nodes } = runtime?.fleet?.status() ?? {}
      if (up !== true || nodes !== NODE_COUNT)
        throw new Violation(
          'converges',
          `${name} is ${up ? 'connected' : 'not connected'} and counts ${nodes} nodes at the end`,
        )
    }
  }
}

const createFleetConfig = (node: string): object => ({
  ...SHARED_BREAKERS,
  shared: 'redis://redis.example:6379',
  node: { id: node, heartbeat: HEARTBEAT_MS },
  policies: {
    ...SHARED_BREAKERS.policies,
    [BUDGET_OPERATION]: { maxAttempts: 4, baseDelay: 20, maxDelay: 60, budget: SHARED_BUDGET },
  },
})

/** Runs two processes that share a Redis for two minutes. */
export function runSmallFleet(
  seed: number,
  trace: (now: number, subject: string, text: string) => void,
  onEvent: (now: number) => void = () => {},
): SmallFleetResult {
  const fleet: SmallFleet = new SmallFleet(seed, (subject, text) =>
    trace(fleet.scheduler.now, `fleet ${subject}`, text),
  )
  return fleet.run(() => onEvent(fleet.scheduler.now))
}
