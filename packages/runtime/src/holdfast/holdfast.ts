import { type Config, loadSource } from '@holdfast/config'
import type { FleetNode } from '@holdfast/fleet'
import type { AuditRecord } from '@holdfast/records'
import { type AuditFilter, checkJournalFilter, openStore, type Page, type Store } from '@holdfast/store'
import { type Attempt, type Guard, type GuardOptions, HoldfastError, isHoldfastError } from 'holdfast'
import type { DecoratedMethod } from 'holdfast/decorators'
import {
  formatInstance,
  INSPECT,
  type Inspect,
  runOutsideContext,
  systemClock,
  systemRandom,
} from 'holdfast/internal'
import type {
  CallOptions,
  EventService,
  Health,
  MetricsService,
  OpenOptions,
  PoolService,
  Run,
} from '../api-types.js'
import { Breakers } from '../breakers/service.js'
import { checkOpenOptions } from '../call-options.js'
import type { Configuration } from '../config/configuration.js'
import type { StoreBackedContext } from '../context/store-backed-context.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { ErrorLog } from '../error-log/error-log.js'
import type { Fleet } from '../fleet/fleet.js'
import type { Metrics } from '../metrics/metrics.js'
import { type Pipeline, PipelineFactory } from '../pipeline/pipeline.js'
import type { Step } from '../pipeline/step.js'
import { Pools } from '../pools/service.js'
import type { MemberTarget } from '../pools/target.js'
import { Sessions } from '../sessions/service.js'
import { RuntimeContainer } from './runtime-container.js'

/** Where the records of a file lie that says nothing. */
const DEFAULT_STORE = 'sqlite:data/holdfast.db'

/** Why the store cannot be opened that nobody chose, in one line, and how to choose another. */
function defaultStoreError(url: string, error: unknown): unknown {
  if (!isHoldfastError(error)) return error
  const [reason = ''] = error.message.split('\n')
  return new HoldfastError(
    error.code,
    `the default store ${url} cannot be opened: ${reason}; to use another one, set store in the config: files:DIR, sqlite:FILE, postgres://HOST/DATABASE or memory`,
    { cause: error, ...(error.status !== undefined && { status: error.status }) },
  )
}

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
  readonly audit: {
    list(filter?: AuditFilter): Promise<Page<AuditRecord>>
    record: StoreBackedContext['audit']
  }
  /** What failed for good and is kept. */
  readonly deadLetters: DeadLetters
  /** The pools of the configuration. */
  readonly pools: PoolService
  /** The configuration itself. */
  readonly config: Configuration
  /** Where records live. */
  readonly store: Store
  private readonly container: RuntimeContainer
  private readonly pipelines: PipelineFactory
  private closing: Promise<void> | undefined = undefined

  /**
   * Opens a runtime: reads the configuration, opens the store, restores what must outlive a restart, and follows the file
   * from there on.
   *
   * @throws CONFIG_INVALID that lists everything wrong with the file, unless `fallback` is set
   */
  static async open(input: string | OpenOptions = {}): Promise<Holdfast> {
    // One that is opened by the first call that needs it still belongs to all.
    return runOutsideContext(() => openRuntime(input))
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { node, store } = this.container.runtime
    return formatInstance('Holdfast', { node, store: store.kind }, options, inspect)
  }

  private constructor(assembly: RuntimeContainer) {
    const {
      runtime,
      store,
      config,
      errors,
      deadLetters,
      observers,
      metrics,
      registry,
      breakerEvents,
      pools,
    } = assembly
    const run: Run = (operation, fn, input) => this.run(operation, fn, input)
    assembly.run = run
    this.container = assembly
    this.store = store
    this.config = config
    this.policies = config.policies
    this.errors = errors
    this.deadLetters = deadLetters
    this.pipelines = new PipelineFactory(runtime, run, deadLetters)
    this.breakers = new Breakers(runtime, registry, pools, {
      flush: () => runtime.breakerEvents.flush(),
      saveChanged: () => breakerEvents.saveChanged(),
    })
    this.sessions = new Sessions(runtime, observers.active, assembly.sessionRecorder, () =>
      runtime.sessions.flush(),
    )
    this.events = {
      on: (type, listener) => runtime.bus.on(type, listener),
      list: async (filter) => {
        checkJournalFilter('events', filter)
        await runtime.events.flush()
        return store.events.list(filter)
      },
    }
    this.metrics = {
      summary: async () => metrics.summary(),
      timeseries: async (asked) => metrics.timeseries(asked),
      byMember: async (asked) => metrics.byMember(asked),
      window: async (range) => metrics.window(range),
      counters: () => metrics.counters(),
    }
    this.audit = {
      list: async (filter) => {
        checkJournalFilter('audit records', filter)
        await runtime.audits.flush()
        return store.audit.list(filter)
      },
      record: (...args) => runtime.audit(...args),
    }
    this.pools = new Pools(runtime, config, pools)
  }

  /** This process among others, where the configuration says `shared`. */
  get fleet(): Fleet | undefined {
    return this.container.fleet
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
    return this.container.calls.run(operation, fn as never, options)
  }

  /** A guard whose every call goes by the configuration of the moment it begins. `options` hold for all of them. */
  guard(operation: string, options?: CallOptions): Guard {
    const { calls, run } = this.container
    return calls.guard(operation, run, options)
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
    return this.container.runtime.bus.on('config_reloaded', changed)
  }

  /** A guard with options of its own, whose calls are recorded and logged like all others: those of decorated methods. */
  guardFor(name: string, options: GuardOptions): Guard {
    return this.container.calls.guardFor(name, options)
  }

  /** How much retrying is left of each policy's budget. */
  budgets(): Iterable<readonly [policyId: string, left: number]> {
    return this.container.policyLimits.budgetsLeft()
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
    const { fleet, localNode } = this.container
    return fleet?.nodes() ?? [localNode.describe()]
  }

  /** Items through steps, each step under its own operation. */
  pipeline(steps: readonly Step[]): Pipeline {
    return this.pipelines.createPipeline(steps)
  }

  /** How it is. */
  async health(): Promise<Health> {
    const degraded = this.config.degraded || this.store.damaged === true
    return {
      status: this.closing !== undefined ? 'closed' : degraded ? 'degraded' : 'ok',
      initialized: true,
      policiesCount: (await this.policies.list()).length,
      activeSessions: this.container.observers.active.count,
      circuitBreakers: this.breakers.counts(),
    }
  }

  /** Refuses new calls, waits for those that run (10 s), cancels the rest, and writes everything down. */
  close(): Promise<void> {
    this.closing ??= this.container.stop()
    return this.closing
  }
}

/** Makes the runtime outside its class: esbuild renames a class that refers to itself, and its constructor is private. */
async function openRuntime(input: string | OpenOptions): Promise<Holdfast> {
  const options: OpenOptions = typeof input === 'string' ? { config: input } : input
  checkOpenOptions(options)
  const { clock = systemClock, random = systemRandom, env = process.env } = options
  const source = await loadSource(options.config, env, options.fallback === true)
  const storeOf = (config: Config) =>
    options.store ?? config.store ?? (source.file ? DEFAULT_STORE : 'memory')
  const url = storeOf(source.checked.config)
  const isChosen = options.store !== undefined || source.checked.config.store !== undefined
  const store = await openStore(url, { dir: source.dir }).catch((error: unknown) => {
    throw isChosen ? error : defaultStoreError(url, error)
  })
  try {
    const assembly = new RuntimeContainer({ clock, random, options, source, store, url, storeOf })
    await assembly.start(options.watch !== false)
    return new (Holdfast as unknown as new (assembly: RuntimeContainer) => Holdfast)(assembly)
  } catch (error) {
    await store.close().catch(() => {})
    throw error
  }
}
