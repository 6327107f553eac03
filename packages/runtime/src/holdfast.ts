import {
  type Attempt,
  type BreakerEvent,
  type CircuitBreaker,
  type Clock,
  type Guard,
  type GuardOptions,
  HoldfastError,
  type Pool,
  type PoolEvent,
  type Random,
} from 'holdfast'
import type { DecoratedMethod } from 'holdfast/decorators'
import { systemClock, systemRandom } from 'holdfast/engine'
import { Alerts } from './alerts/alerts.js'
import { StorageWatch } from './alerts/storage.js'
import { type BreakerOwner, BreakerRegistry } from './breakers/registry.js'
import { BreakerSaver } from './breakers/saver.js'
import { Breakers } from './breakers/service.js'
import { RuntimeCall } from './calls/call.js'
import { lineOf } from './calls/decorated.js'
import { FirstTry } from './calls/first-try.js'
import type { Line } from './calls/line.js'
import { type LineParts, Lines } from './calls/lines.js'
import { StraightCall } from './calls/straight.js'
import type { Config } from './config/schema/schema.js'
import { readSource, type Source } from './config/source.js'
import { Configuration } from './configuration.js'
import { DeadLetters } from './dead-letters/dead-letters.js'
import { ErrorLog } from './error-log/error-log.js'
import type {
  CallOptions,
  EventService,
  Health,
  MetricsService,
  OpenOptions,
  PoolService,
  Run,
} from './face.js'
import { checkCall, checkOpen } from './given.js'
import { LiveGuard, type LiveParts } from './guard.js'
import { House } from './house.js'
import { Housekeeping } from './housekeeping.js'
import { RetryLog } from './logging/retry-log.js'
import { Metrics } from './metrics/metrics.js'
import { type Pipeline, Pipelines } from './pipeline/pipeline.js'
import type { Step } from './pipeline/step.js'
import { PoolSet } from './pools/pools.js'
import { Pools } from './pools/service.js'
import type { MemberTarget } from './pools/target.js'
import type { AuditRecord } from './records/errors.js'
import { messageOf } from './records/summary.js'
import { recorderPorts } from './sessions/ports.js'
import { CallRecorder } from './sessions/recorder.js'
import { Sessions } from './sessions/service.js'
import { Fleet } from './shared/fleet.js'
import type { FleetNode } from './shared/nodes.js'
import { OwnNode } from './shared/own-node.js'
import { checkJournalFilter } from './store/filter.js'
import { openStore } from './store/open.js'
import type { AuditFilter, Page, Store } from './store/store.js'

/** Where the records of a file lie that says nothing. */
const DEFAULT_STORE = 'sqlite:data/holdfast.db'

/** How long `close` waits for calls that run. */
const GRACE = 10_000

/**
 * One configuration for every call of a process, and records of what happened to them.
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 *
 * const hf = await Holdfast.open({ config: { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } } })
 * let calls = 0
 * const answer = await hf.run('quick', async () => {
 *   if (++calls === 1) throw new Error('not yet')
 *   return 'saved'
 * })
 * answer // => 'saved'
 * const { items } = await hf.sessions.list()
 * items.map(({ policyId, totalAttempts, success }) => [policyId, totalAttempts, success]) // => [['quick', 2, true]]
 * await hf.close()
 * ```
 */
export class Holdfast {
  /** Policies as they are in force. */
  readonly policies: Configuration['policies']
  /** Breakers of policies, services and members of pools. */
  readonly breakers: Breakers
  /** Calls that failed at least once. */
  readonly sessions: Sessions
  /** What happens, as it happens. */
  readonly events: EventService
  /** What was counted. */
  readonly metrics: MetricsService & { counters(): ReturnType<Metrics['counters']> }
  /** Failed attempts, as operators read them. */
  readonly errors: ErrorLog
  /** Who changed what. */
  readonly audit: { list(filter?: AuditFilter): Promise<Page<AuditRecord>>; record: House['audit'] }
  /** What failed for good and is kept. */
  readonly deadLetters: DeadLetters
  /** The pools of the configuration. */
  readonly pools: PoolService
  /** The configuration itself. */
  readonly config: Configuration
  /** Where records live. */
  readonly store: Store
  /** This process among others, where the configuration says `shared`. */
  fleet: Fleet | undefined = undefined
  private readonly house: House
  private readonly poolSet: PoolSet
  private readonly registry: BreakerRegistry
  private readonly own: OwnNode
  private readonly saver: BreakerSaver
  private readonly counted: Metrics
  private readonly recorder: CallRecorder
  private readonly alerts: Alerts
  private readonly housekeeping: Housekeeping
  private readonly pipelines: Pipelines
  private readonly log: RetryLog
  private lines!: Lines
  private closing: Promise<void> | undefined = undefined

  /**
   * Opens a runtime: reads the configuration, opens the store, restores what must outlive a restart, and follows the file
   * from there on.
   *
   * @throws CONFIG_INVALID that lists everything wrong with the file, unless `fallback` is set
   */
  static async open(given: string | OpenOptions = {}): Promise<Holdfast> {
    const options: OpenOptions = typeof given === 'string' ? { config: given } : given
    checkOpen(options)
    const { clock = systemClock, random = systemRandom, env = process.env } = options
    const source = await readSource(options.config, env, options.fallback === true)
    const storeOf = (config: Config) =>
      options.store ?? config.store ?? (source.file ? DEFAULT_STORE : 'memory')
    const url = storeOf(source.checked.config)
    const store = await openStore(url, { dir: source.dir })
    try {
      const hf = new Holdfast({ clock, random, options, source, store, url, storeOf })
      await hf.begin(options)
      return hf
    } catch (error) {
      await store.close().catch(() => {})
      throw error
    }
  }

  private constructor(parts: {
    clock: Clock
    random: Random
    options: OpenOptions
    source: Source
    store: Store
    url: string
    storeOf(config: Config): string
  }) {
    const { clock, random, options, source, store, url, storeOf } = parts
    const house = new House({ clock, random, logger: options.logger, store })
    this.house = house
    this.store = store
    this.log = new RetryLog(options.logger)
    this.counted = new Metrics(clock)
    this.saver = new BreakerSaver({
      clock,
      store: store.breakers,
      failed: (error) => house.complain(`the state of breakers could not be saved: ${messageOf(error)}`),
    })
    this.registry = new BreakerRegistry({
      clock,
      changed: (event, owner, persist) => this.breakerChanged(event, owner, persist),
    })
    this.poolSet = new PoolSet({
      clock,
      random,
      heard: (pool, event, persist) => this.poolChanged(pool, event, persist),
      recall: (id) => this.registry.recall(id),
      openings: this.registry.openings,
    })
    this.own = new OwnNode(source.checked.config.node?.id ?? house.node, clock, this.registry, this.poolSet)
    this.config = new Configuration({
      kit: house,
      source,
      env: options.env ?? process.env,
      storeUrl: url,
      storeOf,
      apply: () => this.apply(),
    })
    this.policies = this.config.policies
    this.alerts = new Alerts(house, () => this.config.current.alerts ?? {})
    this.errors = new ErrorLog(house, () => this.config.errorLogOptions())
    this.recorder = new CallRecorder(
      recorderPorts({
        house,
        log: this.log,
        metrics: this.counted,
        errors: this.errors,
        alerts: this.alerts,
        deadLetters: () => this.deadLetters,
        recordResults: () => this.config.current.recordResults ?? false,
      }),
    )
    this.deadLetters = new DeadLetters(house, {
      options: () => this.config.deadLetterOptions(),
      runThrough: (operation, fn, given) => this.run(operation, fn, given),
      policyOf: (operation) => this.lines.get(operation, undefined).base.record.id,
    })
    this.pipelines = new Pipelines(
      house,
      (operation, fn, given) => this.run(operation, fn, given),
      this.deadLetters,
    )
    this.breakers = new Breakers(house, this.registry, this.poolSet, {
      flush: () => house.breakerEvents.flush(),
      look: () => this.lookAtBreakers(),
    })
    this.sessions = new Sessions(house, this.recorder, () => house.sessions.flush())
    this.events = {
      on: (type, listener) => house.bus.on(type, listener),
      list: async (filter) => {
        checkJournalFilter('events', filter)
        await house.events.flush()
        return store.events.list(filter)
      },
    }
    this.metrics = {
      summary: async () => this.counted.summary(),
      timeseries: async (asked) => this.counted.timeseries(asked),
      byMember: async (asked) => this.counted.byMember(asked),
      window: async (range) => this.counted.window(range),
      counters: () => this.counted.counters(),
    }
    this.audit = {
      list: async (filter) => {
        checkJournalFilter('audit records', filter)
        return store.audit.list(filter)
      },
      record: (...args) => house.audit(...args),
    }
    this.pools = new Pools(house, this.config, this.poolSet)
    const space = new StorageWatch(house)
    this.housekeeping = new Housekeeping(house, {
      config: () => this.config.current,
      saveMetrics: async () => {
        this.lookAtBreakers()
        await this.counted.save(store.metrics, house.node)
      },
      expireDeadLetters: () => this.deadLetters.expire(),
      checkSpace: () => space.check(),
    })
  }

  /**
   * Runs `fn` under the rules of an operation: the policy for the kind of each failure, the breaker, the pool. What it
   * throws in the end is the last attempt's own error.
   *
   * @throws POLICY_NOT_FOUND, INVALID_OPTIONS for options that name what is not there; CANCELLED after `close`
   */
  run<T>(
    operation: string,
    fn: (attempt: Attempt<MemberTarget>) => T | PromiseLike<T>,
    options?: CallOptions,
  ): Promise<T> {
    try {
      checkCall(fn, options)
      return this.start(this.lines.get(operation, options), fn as never, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A guard whose every call goes by the configuration of the moment it begins. `options` hold for all of them. */
  guard(operation: string, options?: CallOptions): Guard {
    const { telling } = this.recorder
    return new LiveGuard(
      operation,
      {
        run: (name, fn, given) => this.run(name, fn, given),
        breaker: () => this.lines.get(operation, options).base.gate,
        on: (listener) => telling.on(options?.name ?? operation, listener),
      },
      options,
    )
  }

  /**
   * What decorated methods are given by `configureDecorators({ runtime: hf })`: the overrides of the file and of the
   * environment.
   */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    return this.config.overrides(method)
  }

  /** Tells `changed` whenever another configuration is in force, until the function it returns is called. */
  follow(changed: () => void): () => void {
    return this.house.bus.on('config_reloaded', changed)
  }

  /** A guard with options of its own, whose calls are recorded and logged like all others: those of decorated methods. */
  guardFor(name: string, options: GuardOptions): Guard {
    const line = lineOf(name, options, this.lineParts)
    line.breaker?.on((event) => this.breakerChanged(event, { serviceName: name }, false))
    const run: Run = (_, fn, given) => this.start(line, fn, given)
    const on: LiveParts['on'] = (listener) => this.recorder.telling.on(name, listener)
    return new LiveGuard(name, { run, breaker: () => line.breaker, on }, undefined)
  }

  /** How much retrying is left of each policy's budget. */
  budgets(): Iterable<readonly [policyId: string, left: number]> {
    return this.lines.budgetsLeft()
  }

  /**
   * The processes of the fleet that live, by id, each with its breakers that are not closed; this one alone where there is no
   * fleet, or while it is lost.
   *
   * @example
   * ```ts
   * import { Holdfast } from '@holdfast/runtime'
   *
   * const hf = await Holdfast.open({ config: { node: { id: 'worker-7' }, circuitBreakers: { mail: {} } } })
   * await hf.breakers.trip('service:mail', { by: 'ops' })
   * const nodes = await hf.nodes()
   * nodes.map(({ id, opinions }) => [id, opinions]) // => [['worker-7', { 'service:mail': 'open' }]]
   * await hf.close()
   * ```
   */
  async nodes(): Promise<FleetNode[]> {
    return this.fleet?.nodes() ?? [this.own.describe()]
  }

  /** Items through steps, each step under its own operation. */
  pipeline(steps: readonly Step[]): Pipeline {
    return this.pipelines.make(steps)
  }

  /** How it is. */
  async health(): Promise<Health> {
    return {
      status: this.closing !== undefined ? 'closed' : this.config.degraded ? 'degraded' : 'ok',
      initialized: true,
      policiesCount: (await this.policies.list()).length,
      activeSessions: this.recorder.active.count,
      circuitBreakers: this.breakers.counts(),
    }
  }

  /** Refuses new calls, waits for those that run (10 s), cancels the rest, and writes everything down. */
  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private start<T>(
    line: Line,
    fn: (attempt: Attempt) => T | PromiseLike<T>,
    options: CallOptions | undefined,
  ): Promise<T> {
    if (this.closing !== undefined)
      return Promise.reject(new HoldfastError('CANCELLED', 'the runtime is closed'))
    if (!line.enabled) {
      const { pool, context, signal } = options ?? {}
      const member = pool === undefined ? undefined : this.poolSet.get(pool).pick(context)
      return new StraightCall<T>(this.recorder, member, signal).start(fn)
    }
    const refused = options?.payload === undefined ? undefined : this.deadLetters.refuses()
    if (refused !== undefined) return Promise.reject(refused)
    const { signal, retry } = options ?? {}
    const watched = signal !== undefined || retry !== undefined || this.recorder.telling.any
    const Kind = line.plain && !watched ? FirstTry : RuntimeCall
    return new Kind<T>(this.recorder, line, fn, options).start()
  }

  private async begin(options: OpenOptions): Promise<void> {
    const { house, saver, registry, counted } = this
    registry.remember((await saver.load()).map(({ snapshot }) => snapshot))
    this.fleet = await Fleet.join({
      house,
      registry,
      pools: this.poolSet,
      own: this.own,
      config: () => this.config.current,
      path: (path) => this.config.path(path),
      readLayer: () => this.config.refresh(),
    })
    try {
      await this.config.open()
    } catch (error) {
      await this.fleet?.close()
      throw error
    }
    await this.fleet?.settled()
    for (const breaker of this.persisted()) saver.know(breaker)
    await counted.load(this.store.metrics, house.node)
    await this.deadLetters.open()
    this.housekeeping.start()
    if (options.watch !== false) this.config.follow()
  }

  /** Puts the configuration in force that has just been read. */
  private apply(): void {
    const { config, house, counted, poolSet } = this
    const { current } = config
    house.configure({ redact: current.redact ?? {}, debug: current.debug ?? false })
    counted.configure(current.metrics ?? {})
    poolSet.apply(current.pools ?? {}, (pool) => config.members(pool))
    const lines = new Lines(config.ruling(), this.lineParts, this.lines)
    this.registry.keepOnly(lines.prepare())
    this.lines = lines
    this.fleet?.apply()
  }

  private get lineParts(): LineParts {
    const { house, registry, poolSet, counted } = this
    return {
      clock: house.clock,
      random: house.random,
      breakers: registry,
      pool: (id) => poolSet.get(id) as Pool,
      sharedBudget: (id, options) => this.fleet?.budget(id, options),
      tally: (operation, policyId, subsystem) => counted.line(policyId, subsystem, operation),
    }
  }

  private breakerChanged(event: BreakerEvent, owner: BreakerOwner, persist: boolean): void {
    const { house, counted, log, errors } = this
    const { id, fromState, toState, failureCount, timestamp } = event
    if (toState === 'open') this.registry.openings.set(id, timestamp)
    else if (toState === 'closed') this.registry.openings.delete(id)
    for (const operation of this.recorder.telling.operations())
      if (this.lines.get(operation, undefined).gates.some((gate) => gate.id === id))
        this.recorder.telling.breaker(operation, event)
    counted.breakerChanged(event)
    house.breakerChanged(event)
    const eventType = (
      {
        open: 'circuit_breaker_opened',
        closed: 'circuit_breaker_closed',
        half_open: 'circuit_breaker_half_opened',
      } as const
    )[toState]
    house.emit({
      eventType,
      component: owner.pool === undefined ? 'circuit_breaker' : 'pool',
      ...(owner.policyId !== undefined && { policyId: owner.policyId }),
      context: { id, fromState, toState, failureCount },
    })
    if (toState === 'open') {
      log.opened(id, failureCount)
      errors.opened(event)
    }
    const breaker = this.registry.get(id)
    if (persist && breaker !== undefined) this.saver.touch(breaker)
  }

  private poolChanged(pool: Pool<MemberTarget>, event: PoolEvent, persist: boolean): void {
    if (event.type === 'breaker_changed') {
      this.breakerChanged(event, { pool: pool.id, member: event.memberId }, false)
      if (persist) this.saver.touch(pool.breaker(event.memberId))
      if (event.toState === 'open')
        this.fleet?.memberOpened(pool.id, event.memberId, pool.breaker(event.memberId))
      return
    }
    const { type: _, timestamp: __, ...facts } = event
    this.house.emit({
      eventType: 'pool_member_changed',
      component: 'pool',
      context: { pool: pool.id, ...facts },
    })
  }

  /** The breakers that outlive the process. */
  private *persisted(): Iterable<CircuitBreaker> {
    for (const { breaker, persist } of this.registry) if (persist) yield breaker
    for (const pool of this.poolSet.persisted()) yield* pool.usedBreakers()
  }

  /** Saves those of them that anything happened to. */
  private lookAtBreakers(): void {
    for (const breaker of this.persisted()) this.saver.look(breaker)
  }

  private async end(): Promise<void> {
    const { recorder, house, saver, counted } = this
    const { clock } = house
    await this.config.close()
    let timer: unknown
    const grace = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, GRACE)
    })
    // Begins nothing more while calls end.
    const letters = this.deadLetters.close()
    await Promise.race([recorder.active.drained(), grace])
    clock.clearTimer(timer)
    for (const call of recorder.active.all()) call.cancel('the runtime is closing')
    await recorder.settled()
    await letters
    await this.housekeeping.stop()
    await this.errors.close()
    await this.alerts.close()
    this.lookAtBreakers()
    await saver.close()
    await counted.save(this.store.metrics, house.node).catch((error: unknown) => {
      house.complain(`metrics could not be saved: ${messageOf(error)}`)
    })
    await this.fleet?.close()
    await house.close()
    await this.store.close()
  }
}
