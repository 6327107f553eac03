import type { Clock, Pool, Random } from 'holdfast'
import { Alerts } from './alerts/alerts.js'
import { StorageWatch } from './alerts/storage.js'
import { BreakerChanges } from './breakers/changes.js'
import { BreakerRegistry } from './breakers/registry.js'
import { BreakerSaver } from './breakers/saver.js'
import { Calls } from './calls/calls.js'
import { Limits } from './calls/limits.js'
import type { Config } from './config/schema/schema.js'
import type { Source } from './config/source.js'
import { Configuration } from './configuration.js'
import { DeadLetters } from './dead-letters/dead-letters.js'
import { ErrorLog } from './error-log/error-log.js'
import type { OpenOptions, Run } from './face.js'
import { House } from './house.js'
import { Housekeeping } from './housekeeping.js'
import { RetryLog } from './logging/retry-log.js'
import { Metrics } from './metrics/metrics.js'
import { PoolSet } from './pools/pools.js'
import { messageOf } from './records/summary.js'
import { recorderPorts } from './sessions/ports.js'
import { CallRecorder } from './sessions/recorder.js'
import { Fleet } from './shared/fleet.js'
import { OwnNode } from './shared/own-node.js'
import type { Store } from './store/store.js'

/** How long `end` waits for calls that run. */
const GRACE = 10_000

export interface AssemblyOptions {
  clock: Clock
  random: Random
  options: OpenOptions
  source: Source
  store: Store
  url: string
  storeOf(config: Config): string
}

/** The parts of a runtime, joined, and the order in which they begin, take a configuration over and end. */
export class Assembly {
  readonly store: Store
  readonly house: House
  readonly config: Configuration
  readonly calls: Calls
  readonly recorder: CallRecorder
  readonly counted: Metrics
  readonly errors: ErrorLog
  readonly deadLetters: DeadLetters
  readonly pools: PoolSet
  readonly registry: BreakerRegistry
  readonly changes: BreakerChanges
  readonly limits: Limits
  readonly own: OwnNode
  fleet: Fleet | undefined = undefined
  /** How parts make calls: the way that everybody does, so that who wraps that one sees them too. */
  run: Run
  private readonly saver: BreakerSaver
  private readonly alerts: Alerts
  private readonly housekeeping: Housekeeping

  constructor({ clock, random, options, source, store, url, storeOf }: AssemblyOptions) {
    const house = new House({ clock, random, logger: options.logger, store })
    this.house = house
    this.store = store
    const log = new RetryLog(options.logger)
    this.counted = new Metrics(clock)
    this.saver = new BreakerSaver({
      clock: house.clock,
      store: store.breakers,
      failed: (error) => house.complain(`the state of breakers could not be saved: ${messageOf(error)}`),
    })
    this.registry = new BreakerRegistry({
      clock,
      changed: (event, owner, persist) => this.changes.heard(event, owner, persist),
    })
    this.pools = new PoolSet({
      clock,
      random,
      heard: (pool, event, persist) => this.changes.inPool(pool, event, persist),
      recall: (id) => this.registry.recall(id),
      openings: this.registry.openings,
    })
    this.own = new OwnNode(source.checked.config.node?.id ?? house.node, clock, this.registry, this.pools)
    this.config = new Configuration({
      kit: house,
      source,
      env: options.env ?? process.env,
      storeUrl: url,
      storeOf,
      apply: () => this.apply(),
    })
    this.alerts = new Alerts(house, () => this.config.current.alerts ?? {})
    this.errors = new ErrorLog(house, () => this.config.errorLogOptions())
    this.recorder = new CallRecorder(
      recorderPorts({
        house,
        log,
        metrics: this.counted,
        errors: this.errors,
        alerts: this.alerts,
        deadLetters: () => this.deadLetters,
        recordResults: () => this.config.current.recordResults ?? false,
      }),
    )
    this.changes = new BreakerChanges({
      house,
      log,
      metrics: this.counted,
      errors: this.errors,
      registry: this.registry,
      pools: this.pools,
      saver: this.saver,
      telling: this.recorder.telling,
      gates: (operation) => this.calls.line(operation).gates,
      memberOpened: (pool, member, breaker) => this.fleet?.memberOpened(pool, member, breaker),
    })
    this.limits = new Limits(clock, (id, given) => this.fleet?.budget(id, given))
    this.calls = new Calls(
      {
        lines: {
          clock,
          random,
          shared: { breakers: this.registry, limits: this.limits },
          shadows: {
            breakers: new BreakerRegistry({
              clock,
              changed: (event, owner) => this.changes.foreseen(event, owner),
            }),
            limits: new Limits(clock),
          },
          pool: (id) => this.pools.get(id) as Pool,
          tally: (operation, policyId, subsystem) => this.counted.line(policyId, subsystem, operation),
        },
        pools: this.pools,
        recorder: this.recorder,
        refuses: () => this.deadLetters.refuses(),
        changed: (event, name) => this.changes.heard(event, { serviceName: name }, false),
      },
      this.config.ruling(),
    )
    this.run = (operation, fn, given) => this.calls.run(operation, fn, given)
    this.deadLetters = new DeadLetters(house, {
      options: () => this.config.deadLetterOptions(),
      runThrough: (operation, fn, given) => this.run(operation, fn, given),
      policyOf: (operation) => this.calls.line(operation).base.record.id,
      rotateOthers: () => this.config.rotateKeys(),
    })
    const space = new StorageWatch(house)
    this.housekeeping = new Housekeeping(house, {
      config: () => this.config.current,
      followLayer: store.private ? undefined : () => this.config.look(),
      saveMetrics: async () => {
        this.changes.save()
        await this.counted.save(store.metrics, house.node)
      },
      expireDeadLetters: () => this.deadLetters.expire(),
      checkSpace: () => space.check(),
    })
  }

  /** Restores what must outlive a restart, and puts the configuration in force; `watch` follows it from there on. */
  async begin(watch: boolean): Promise<void> {
    const { house, saver, registry, counted } = this
    registry.remember((await saver.load()).map(({ snapshot }) => snapshot))
    this.fleet = await Fleet.join({
      house,
      registry,
      pools: this.pools,
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
    for (const breaker of this.changes.persisted()) saver.know(breaker)
    await counted.load(this.store.metrics, house.node)
    await this.deadLetters.open()
    this.housekeeping.start()
    if (watch) this.config.follow()
  }

  /** Waits for calls that run, cancels the rest, and writes everything down. */
  async end(): Promise<void> {
    this.calls.closed = true
    const { recorder, house, saver, counted } = this
    const { clock } = house
    // It may be reading the store, which is not to hold up the limit below.
    const configured = this.config.close().catch(this.warnOf('the configuration'))
    let timer: unknown
    const grace = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, GRACE)
    })
    // Begins nothing more while calls end.
    const letters = this.deadLetters.close().catch(this.warnOf('the queue of dead letters'))
    await Promise.race([recorder.active.drained(), grace])
    clock.clearTimer(timer)
    for (const call of recorder.active.all()) call.cancel('the runtime is closing')
    // From here on nothing but the store is waited for.
    this.store.startClosing?.()
    await configured
    await recorder.settled()
    await letters
    await this.housekeeping.stop()
    await this.errors.close()
    await this.alerts.close()
    this.changes.save()
    await saver.close()
    await counted.save(this.store.metrics, house.node).catch((error: unknown) => {
      house.complain(`metrics could not be saved: ${messageOf(error)}`)
    })
    await this.fleet?.close()
    await house.close()
    await this.store.close()
  }

  /** Reports that a part could not be closed: the others are closed all the same. */
  private warnOf(part: string): (error: unknown) => void {
    return (error) => this.house.complain(`${part} could not be closed: ${messageOf(error)}`)
  }

  /** Puts the configuration in force that has just been read. */
  private apply(): void {
    const { config, house, counted, pools } = this
    const { current } = config
    house.configure({ redact: current.redact ?? {}, debug: current.debug ?? false })
    counted.configure(current.metrics ?? {})
    pools.apply(current.pools ?? {}, (pool) => config.members(pool))
    this.calls.apply(config.ruling())
    this.fleet?.apply()
  }
}
