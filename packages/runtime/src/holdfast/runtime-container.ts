import type { Config, ConfigSource, EventInput } from '@holdfast/config'
import type { RedisDriver } from '@holdfast/fleet'
import { errorMessageOf, summarizeError } from '@holdfast/records'
import type { Store } from '@holdfast/store'
import type { Clock, Pool, Random } from 'holdfast'
import { Alerts } from '../alerts/alerts.js'
import { StorageMonitor } from '../alerts/storage-monitor.js'
import type { OpenOptions, Run } from '../api-types.js'
import { BreakerEventRouter } from '../breakers/event-router.js'
import { BreakerPersistence } from '../breakers/persistence.js'
import { BreakerRegistry } from '../breakers/registry.js'
import { Configuration } from '../config/configuration.js'
import { type ProcessIdentity, StoreBackedContext } from '../context/store-backed-context.js'
import { DeadLetterCapture } from '../dead-letters/dead-letter-capture.js'
import { DeadLetters } from '../dead-letters/dead-letters.js'
import { CallErrors } from '../error-log/call-errors.js'
import { ErrorLog } from '../error-log/error-log.js'
import { CallEvents } from '../events/call-events.js'
import { GuardEventEmitter } from '../events/guard-events.js'
import { ShadowEvents } from '../events/shadow-events.js'
import { CallLauncher } from '../execution/call-launcher.js'
import { PolicyLimits } from '../execution/policy-limits.js'
import { Fleet } from '../fleet/fleet.js'
import { LocalNode } from '../fleet/local-node.js'
import { RequestService } from '../http/request-service.js'
import { RetryLog } from '../logging/retry-log.js'
import { CallMetrics } from '../metrics/call-metrics.js'
import { Metrics } from '../metrics/metrics.js'
import { CallObservers } from '../observation/call-observers.js'
import { RejectionLimiter } from '../observation/rejection-limiter.js'
import type { RecordFormatter } from '../observation/session-draft.js'
import { PipelineFactory } from '../pipeline/pipeline.js'
import { PoolManager } from '../pools/pool-manager.js'
import { SessionRecorder } from '../sessions/session-recorder.js'
import { Housekeeping } from './housekeeping.js'

/** How long `stop` waits for active calls. */
const SHUTDOWN_GRACE_MS = 10_000

export interface RuntimeContainerOptions {
  clock: Clock
  random: Random
  options: OpenOptions
  source: ConfigSource
  store: Store
  url: string
  storeOf(config: Config): string
  /** How a fleet reaches Redis. @defaultValue ioredis */
  redisDriver?: RedisDriver | undefined
  /** How often changes of other processes are read. @defaultValue 1000 */
  refreshInterval?: number | undefined
  /** What names of this process in the store contain. @defaultValue those of the operating system */
  identity?: ProcessIdentity | undefined
}

/**
 * The composition root: creates the parts of a runtime and connects them, and starts, configures and stops them in order.
 */
export class RuntimeContainer {
  readonly store: Store
  readonly runtime: StoreBackedContext
  readonly config: Configuration
  readonly calls: CallLauncher
  readonly observers: CallObservers
  readonly sessionRecorder: SessionRecorder
  readonly metrics: Metrics
  readonly errors: ErrorLog
  readonly deadLetters: DeadLetters
  readonly pipelines: PipelineFactory
  readonly requests: RequestService
  readonly pools: PoolManager
  readonly registry: BreakerRegistry
  readonly breakerEvents: BreakerEventRouter
  readonly policyLimits: PolicyLimits
  readonly localNode: LocalNode
  fleet: Fleet | undefined = undefined
  /**
   * Runs the calls of the runtime's own parts. It is `Holdfast.run`, so that a wrapper of that method sees these calls too.
   */
  run: Run
  private readonly deadLetterCapture: DeadLetterCapture
  private readonly rejectionLimiter: RejectionLimiter
  private readonly breakerPersistence: BreakerPersistence
  private readonly alerts: Alerts
  private readonly housekeeping: Housekeeping
  private readonly redisDriver: RedisDriver | undefined

  constructor(parts: RuntimeContainerOptions) {
    const { clock, random, options, source, store, url, storeOf, identity } = parts
    this.redisDriver = parts.redisDriver
    const runtime = new StoreBackedContext({ clock, random, logger: options.logger, store, identity })
    this.runtime = runtime
    this.store = store
    const log = new RetryLog(options.logger)
    this.metrics = new Metrics(clock)
    this.breakerPersistence = new BreakerPersistence({
      clock: runtime.clock,
      store: store.breakers,
      onFailed: (error) =>
        runtime.warn(`the state of breakers could not be saved or deleted: ${errorMessageOf(error)}`),
    })
    this.registry = new BreakerRegistry({
      clock,
      onChange: (event, owner, persist) => this.breakerEvents.onChange(event, owner, persist),
    })
    this.pools = new PoolManager({
      clock,
      random,
      onPoolEvent: (pool, event, persist) => this.breakerEvents.onPoolEvent(pool, event, persist),
      savedSnapshot: (id) => this.registry.takeSnapshot(id),
      openings: this.registry.openings,
    })
    this.localNode = new LocalNode(
      source.checked.config.node?.id ?? runtime.node,
      clock,
      this.registry,
      this.pools,
    )
    this.config = new Configuration({
      runtime: runtime,
      source,
      env: options.env ?? process.env,
      storeUrl: url,
      storeOf,
      apply: () => this.applyConfig(),
    })
    this.alerts = new Alerts(runtime, () => this.config.current.alerts ?? {})
    this.errors = new ErrorLog(runtime, () => this.config.errorLogOptions())
    const formatter = createRecordFormatter(runtime, () => this.config.current.recordResults ?? false)
    const emit = (event: EventInput) => void runtime.emit(event)
    const guardEvents = new GuardEventEmitter(runtime.clock)
    this.sessionRecorder = new SessionRecorder(runtime.clock, formatter, (record) =>
      runtime.sessions.add(record),
    )
    this.deadLetterCapture = new DeadLetterCapture(() => this.deadLetters)
    this.rejectionLimiter = new RejectionLimiter(runtime.clock, emit)
    // The order of this list is the order of effects.
    this.observers = new CallObservers(
      {
        clock: runtime.clock,
        random: runtime.random,
        formatter,
        rejectionLimiter: this.rejectionLimiter,
        onObserverError: (error) => runtime.warn(`a call could not be recorded: ${errorMessageOf(error)}`),
      },
      [
        new CallMetrics(runtime.clock, this.metrics),
        new ShadowEvents(emit, formatter),
        new CallErrors(this.errors, this.alerts),
        this.sessionRecorder,
        new CallEvents(emit),
        ...(options.logger === undefined ? [] : [log]),
        guardEvents,
        this.deadLetterCapture,
      ],
    )
    this.breakerEvents = new BreakerEventRouter({
      runtime,
      log,
      metrics: this.metrics,
      errors: this.errors,
      registry: this.registry,
      pools: this.pools,
      persistence: this.breakerPersistence,
      guardEvents,
      onMemberOpened: (pool, member, breaker) => this.fleet?.memberOpened(pool, member, breaker),
    })
    this.policyLimits = new PolicyLimits(clock, (id, input) => this.fleet?.budget(id, input))
    this.calls = new CallLauncher(
      {
        compilerParts: {
          clock,
          random,
          shared: { breakers: this.registry, limits: this.policyLimits },
          shadowShared: {
            breakers: new BreakerRegistry({
              clock,
              onChange: (event, owner) => this.breakerEvents.onShadowChange(event, owner),
            }),
            limits: new PolicyLimits(clock),
          },
          poolById: (id) => this.pools.get(id) as Pool,
          metricsFor: ({ policyId, subsystem, operation, breakers }) =>
            this.metrics.recorderFor(policyId, subsystem, operation, breakers),
        },
        pools: this.pools,
        observers: this.observers,
        guardEvents,
        rejectionFor: () => this.deadLetters.rejectionIfFull(),
        onClosedCall: ({ name, initialPolicy }, callOptions, error) =>
          this.deadLetterCapture.onClosedCall(name, initialPolicy.record, callOptions, error),
        onBreakerChanged: (event, name) => this.breakerEvents.onChange(event, { serviceName: name }, false),
      },
      this.config.ruling(),
    )
    this.run = (operation, fn, input) => this.calls.run(operation, fn, input)
    this.deadLetters = new DeadLetters(runtime, {
      options: () => this.config.deadLetterOptions(),
      runOperation: (operation, fn, input) => this.run(operation, fn, input),
      policyIdOf: (operation) => this.calls.operationFor(operation).initialPolicy.record.id,
      onBreakerClosed: (listener) => runtime.bus.on('circuit_breaker_closed', listener),
      rotateOthers: () => this.config.rotateKeys(),
      pid: runtime.identity.pid,
    })
    this.pipelines = new PipelineFactory(
      runtime,
      (operation, fn, input) => this.run(operation, fn, input),
      this.deadLetters,
    )
    this.requests = new RequestService({
      run: (operation, fn, input) => this.run(operation, fn, input),
      operationFor: (operation, input) => this.calls.operationFor(operation, input),
      redact: (value) => runtime.redact(value),
      registerReplay: (operation, replay) => this.deadLetters.register(operation, replay),
      on: (operation, callOptions, listener) => this.calls.on(operation, callOptions, listener),
    })
    const space = new StorageMonitor(runtime)
    this.housekeeping = new Housekeeping(runtime, {
      config: () => this.config.current,
      refreshLayer: store.private ? undefined : () => this.config.look(),
      refreshInterval: parts.refreshInterval,
      saveMetrics: async () => {
        this.breakerEvents.saveChanged()
        await this.metrics.save(store.metrics, runtime.node)
      },
      expireDeadLetters: () => this.deadLetters.expire(),
      checkDiskSpace: () => space.check(),
    })
  }

  /** Restores breakers and metrics, and applies the configuration. With `shouldWatch` the file is reloaded when it changes. */
  async start(shouldWatch: boolean): Promise<void> {
    try {
      await this.restore()
    } catch (error) {
      await this.cancelStart().catch(this.warnOf('a runtime that did not start'))
      throw error
    }
    this.housekeeping.start()
    if (shouldWatch) this.config.follow()
  }

  private async restore(): Promise<void> {
    const { runtime, breakerPersistence, registry, metrics } = this
    registry.loadSnapshots((await breakerPersistence.load()).map(({ snapshot }) => snapshot))
    this.fleet = await Fleet.join({
      runtime,
      registry,
      pools: this.pools,
      localNode: this.localNode,
      config: () => this.config.current,
      driver: this.redisDriver,
      resolvePath: (path) => this.config.path(path),
      readLayer: () => this.config.refresh(),
    })
    await this.config.open()
    await this.fleet?.settled()
    for (const breaker of this.breakerEvents.persistedBreakers()) breakerPersistence.markSaved(breaker)
    await metrics.load(this.store.metrics, runtime.node)
    await this.deadLetters.open()
  }

  /** Ends what has started, so that no connection and no record that waits for the store keeps the process running. */
  private async cancelStart(): Promise<void> {
    this.store.startClosing?.()
    await this.fleet?.close()
    await this.breakerPersistence.close()
    await this.runtime.close()
  }

  /** Waits for active calls, cancels the remaining ones, and writes all records. */
  async stop(): Promise<void> {
    this.calls.isClosed = true
    const { runtime, breakerPersistence, metrics } = this
    const { active } = this.observers
    const { clock } = runtime
    // The configuration may be waiting for the store, which must not delay the grace period below.
    const configured = this.config.close().catch(this.warnOf('the configuration'))
    let timer: unknown
    const grace = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, SHUTDOWN_GRACE_MS)
    })
    // No replay starts while calls end.
    const deadLettersClosed = this.deadLetters.close().catch(this.warnOf('the dead-letter queue'))
    await Promise.race([active.whenIdle(), grace])
    clock.clearTimer(timer)
    for (const call of active.all()) call.cancel('the runtime is closing')
    // From here on only the store is waited for.
    this.store.startClosing?.()
    await configured
    // An item of a pipeline ends with its current step, or with the next one, which is rejected and stored.
    await this.pipelines.whenSettled()
    await this.deadLetterCapture.close()
    await deadLettersClosed
    this.rejectionLimiter.flush()
    await this.housekeeping.stop()
    await this.errors.close()
    await this.alerts.close()
    this.breakerEvents.saveChanged()
    await breakerPersistence.close()
    await metrics.save(this.store.metrics, runtime.node).catch((error: unknown) => {
      runtime.warn(`metrics could not be saved: ${errorMessageOf(error)}`)
    })
    await this.fleet?.close()
    await runtime.close()
    await this.store.close()
  }

  /** Reports that a part could not be closed, while the other parts are closed. */
  private warnOf(part: string): (error: unknown) => void {
    return (error) => this.runtime.warn(`${part} could not be closed: ${errorMessageOf(error)}`)
  }

  /** Applies the configuration that has just been read. */
  private applyConfig(): void {
    const { config, runtime, metrics, pools } = this
    const { current } = config
    runtime.configure({ redact: current.redact ?? {}, debug: current.debug ?? false })
    metrics.configure(current.metrics ?? {})
    pools.apply(current.pools ?? {}, (pool) => config.members(pool))
    this.calls.applyConfiguration(config.ruling())
    this.fleet?.apply()
  }
}

const createRecordFormatter = (
  runtime: StoreBackedContext,
  shouldRecordResults: () => boolean,
): RecordFormatter => ({
  summarizeError: (error) => summarizeError(error, (text) => runtime.redact(text), runtime.isDebug()),
  redact: (value) => runtime.redact(value),
  get keepsResults() {
    return shouldRecordResults()
  },
})
