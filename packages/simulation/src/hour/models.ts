import { Cluster } from '../cluster/cluster.js'
import { DeadLetterModel } from '../dead-letters/dead-letter-model.js'
import { QueueContract } from '../dead-letters/queue-contract.js'
import { Choices } from '../engine/seeded-random.js'
import { BreakerModel } from '../invariants/breaker-model.js'
import { BudgetModel } from '../invariants/budget-model.js'
import { FleetEventModel } from '../invariants/fleet-event-model.js'
import { FleetModel } from '../invariants/fleet-model.js'
import { HousekeepingModel } from '../invariants/housekeeping-model.js'
import { MemberChangeModel } from '../invariants/member-change-model.js'
import { MemoryModel } from '../invariants/memory-model.js'
import { NaiveBreakerModel } from '../invariants/naive-breaker-model.js'
import { OpeningModel } from '../invariants/opening-model.js'
import { PermitModel } from '../invariants/permit-model.js'
import { PoolModel } from '../invariants/pool-model.js'
import { RecordModel } from '../invariants/record-model.js'
import { SavedBreakerModel } from '../invariants/saved-breaker-model.js'
import { PolicyContract } from '../policies/policy-contract.js'
import type { Process } from '../process/simulated-node.js'
import { Upstreams } from '../process/upstreams.js'
import type { OpenRealDriver } from '../sqlite/simulated-database.js'
import { Workload } from '../workload/workload.js'
import { createObserver } from './observer.js'
import { nodeOf, type Run } from './run.js'

/** The cluster of an hour, its workload, and a model of each promise. */
export class Models {
  readonly upstreams = new Upstreams()
  readonly deadLetters: DeadLetterModel
  readonly breakers: BreakerModel
  readonly openings: OpeningModel
  readonly records = new RecordModel()
  readonly housekeeping: HousekeepingModel
  readonly permits = new PermitModel()
  readonly naiveBreakers: NaiveBreakerModel
  readonly budgets: BudgetModel
  readonly pools: PoolModel
  readonly memberChanges: MemberChangeModel
  readonly saved: SavedBreakerModel
  readonly workload: Workload
  readonly policies: PolicyContract
  readonly policyChoices: Choices
  readonly cluster: Cluster
  readonly fleet: FleetModel
  readonly fleetEvents: FleetEventModel
  /** Naive clients of the queue of each node, by its name. */
  readonly contracts: ReadonlyMap<string, QueueContract>
  readonly memory: MemoryModel

  constructor(run: Run, openSqlite: OpenRealDriver | undefined) {
    const { scheduler, scenario, choices, addTrace, check } = run
    const now = () => scheduler.now
    const storeOf = (process: string) => this.cluster.storeOf(process)
    this.deadLetters = new DeadLetterModel({
      couldRenew: (process) => this.cluster.couldRenew(process),
      areClocksRight: () => this.cluster.areClocksRight(),
      now,
      isInFallback: (id, payload) =>
        [...this.cluster.fallbacks.values()].some(({ model }) => model.hasKept(id, payload)),
      originalOf: (id) => this.cluster.originalOf(id),
    })
    this.breakers = new BreakerModel(check, addTrace, now)
    this.openings = new OpeningModel(check, now, scenario.persists)
    this.housekeeping = new HousekeepingModel(now)
    this.naiveBreakers = new NaiveBreakerModel(check)
    this.budgets = new BudgetModel(check)
    this.pools = new PoolModel(check, scenario)
    this.memberChanges = new MemberChangeModel(scheduler, storeOf)
    this.saved = new SavedBreakerModel(scheduler, storeOf, scenario)
    const { openings, permits, pools, memberChanges, upstreams } = this
    this.workload = new Workload({
      openings,
      permits,
      pools,
      memberChanges,
      scheduler,
      upstreams,
      queueOf: (process) => this.cluster.ownQueueOf(process.name) ?? this.deadLetters,
      trace: addTrace,
      check,
    })
    const { records: work } = this.workload
    this.policyChoices = new Choices(scenario.seed ^ 0x90_11c7)
    this.policies = new PolicyContract({
      scheduler,
      check,
      trace: addTrace,
      isIdle: (process) => work.workOf(process).activeCount === 0,
      onActive: (process, change) => work.countContractCall(process, change),
    })
    this.cluster = new Cluster(scheduler, choices, scenario, createObserver(run, this), openSqlite)
    const { redis, nodes } = this.cluster
    this.fleet = new FleetModel({ redis, redisNow: () => this.cluster.now(), now }, scenario)
    this.fleetEvents = new FleetEventModel(redis, check, now, false)
    this.contracts = new Map(
      nodes.map(({ name }) => [name, new QueueContract(name, choices.fork(), !this.cluster.disks.has(name))]),
    )
    this.memory = new MemoryModel((process) => work.workOf(process))
  }

  /** Checks what is cheap enough for every event. */
  onEventEnded(): void {
    const { nodes } = this.cluster
    this.memory.checkTimers(nodes)
    this.permits.check(nodes)
    this.fleet.checkLeases(nodes)
    this.openings.onEventEnded()
    this.pools.onEventEnded()
    this.policies.onEventEnded()
    this.cluster.checkFallbacks()
  }

  /** Whether the store of a process is on the server, or in SQLite. */
  isOnServer(process: Process): boolean {
    return !this.cluster.disks.has(nodeOf(process.name))
  }
}
