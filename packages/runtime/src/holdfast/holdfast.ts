import { CONFIG_DEFAULTS, type Config, loadSource } from '@holdfast/config'
import type { FleetNode, RedisDriver } from '@holdfast/fleet'
import type { AuditRecord } from '@holdfast/records'
import {
  type AuditFilter,
  checkJournalFilter,
  openStore,
  type Page,
  STORE_URL_FORMAT,
  type Store,
} from '@holdfast/store'
import { type Attempt, type Guard, type GuardOptions, HoldfastError, isHoldfastError } from 'holdfast'
import type { DecoratedMethod } from 'holdfast/decorators'
import type { ResilientFetch } from 'holdfast/http'
import {
  formatInstance,
  INSPECT,
  type Inspect,
  isInstanceOfAnyCopy,
  runOutsideContext,
  systemClock,
  systemRandom,
} from 'holdfast/internal'
import type { ResilienceInterceptor } from 'holdfast/undici'
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
import { checkOpenOptions, checkOperation } from '../call-options.js'
import type { Configuration } from '../config/configuration.js'
import type { ProcessIdentity, StoreBackedContext } from '../context/store-backed-context.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { ErrorLog } from '../error-log/error-log.js'
import type { Fleet } from '../fleet/fleet.js'
import type { RequestOptions, RuntimeFetchOptions } from '../http/options.js'
import type { Metrics } from '../metrics/metrics.js'
import type { OperationName } from '../operations.js'
import type { Pipeline, PipelineFactory } from '../pipeline/pipeline.js'
import type { Step } from '../pipeline/step.js'
import { Pools } from '../pools/service.js'
import type { MemberTarget } from '../pools/target.js'
import { Sessions } from '../sessions/service.js'
import { RuntimeContainer } from './runtime-container.js'

/** The store of a config file that names none. */
const DEFAULT_STORE = CONFIG_DEFAULTS.store

/** The error of a default store that cannot be opened, with the ways to choose another store. */
function defaultStoreError(url: string, error: unknown): unknown {
  if (!isHoldfastError(error)) return error
  const [reason = ''] = error.message.split('\n')
  return new HoldfastError(
    error.code,
    `the default store ${url} cannot be opened: ${reason}; to use another one, set store in the config to ${STORE_URL_FORMAT}`,
    { cause: error, ...(error.status !== undefined && { status: error.status }) },
  )
}

/**
 * The runtime of a process: one configuration for its calls, and the records of them.
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
  /** The active policies. */
  readonly policies: Configuration['policies']
  /** The breakers of policies, services and pool members. */
  readonly breakers: Breakers
  /** Calls that failed at least once. */
  readonly sessions: Sessions
  /** Events, live and stored. */
  readonly events: EventService
  /** Metrics. */
  readonly metrics: MetricsService & { counters(): ReturnType<Metrics['counters']> }
  /** The records of failed attempts. */
  readonly errors: ErrorLog
  /** The records of changes and of who made them. */
  readonly audit: {
    list(filter?: AuditFilter): Promise<Page<AuditRecord>>
    record: StoreBackedContext['audit']
  }
  /** Failed calls whose payload is stored for a replay. */
  readonly deadLetters: DeadLetters
  /** The pools of the configuration. */
  readonly pools: PoolService
  /** The active configuration. */
  readonly config: Configuration
  /** The store of all records. */
  readonly store: Store
  private readonly container: RuntimeContainer
  private readonly pipelines: PipelineFactory
  private closing: Promise<void> | undefined = undefined
  private isClosed = false
  private readonly closeListeners: (() => void)[] = []

  /**
   * Opens a runtime: reads the configuration, opens the store, restores breakers and metrics, and then watches the file.
   *
   * @throws CONFIG_INVALID that lists all problems of the file, unless `fallback` is set
   */
  static async open(input: string | OpenOptions = {}): Promise<Holdfast> {
    // A runtime serves all calls, even if one of them opens it, so it does not keep that call's async context.
    return runOutsideContext(() => openRuntime(input))
  }

  /** Makes `instanceof` true for runtimes of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'runtimeVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get runtimeVersion(): number {
    return 1
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { node, store } = this.container.runtime
    return formatInstance('Holdfast', { node, store: store.kind }, options, inspect)
  }

  private constructor(container: RuntimeContainer) {
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
    } = container
    const run: Run = (operation, fn, input) => this.run(operation, fn, input)
    container.run = run
    this.container = container
    this.store = store
    this.config = config
    this.policies = config.policies
    this.errors = errors
    this.deadLetters = deadLetters
    this.pipelines = container.pipelines
    this.breakers = new Breakers(runtime, registry, pools, {
      flush: () => runtime.breakerEvents.flush(),
      saveChanged: () => breakerEvents.saveChanged(),
    })
    this.sessions = new Sessions(runtime, observers.active, container.sessionRecorder, () =>
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
      byMember: (asked) => metrics.byMember(asked),
      window: async (range) => metrics.window(range),
      operations: (asked) => metrics.operations(asked),
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

  /** The fleet that this process belongs to, if the configuration has `shared`. */
  get fleet(): Fleet | undefined {
    return this.container.fleet
  }

  /**
   * Runs `fn` under the policies, breakers and pool of an operation. After a failure, the policy for its kind applies. A
   * call that fails rejects with the unchanged error of its last attempt, unless a fallback returns a value.
   *
   * @throws POLICY_NOT_FOUND, INVALID_OPTIONS for options that name an unknown service or pool; CANCELLED after `close`
   */
  run<T, F = never>(
    operation: OperationName,
    fn: (attempt: Attempt<MemberTarget>) => T | PromiseLike<T>,
    options?: CallOptions<F>,
  ): Promise<T | F> {
    return this.container.calls.run(operation, fn as never, options)
  }

  /**
   * Creates a guard whose calls use the configuration that is active when they start. `options` apply to all of its
   * calls.
   */
  guard<F = never>(operation: OperationName, options?: CallOptions<F>): Guard<Attempt, F> {
    const { calls, run } = this.container
    return calls.guard(operation, run, options) as Guard<Attempt, F>
  }

  /**
   * Creates a `fetch` whose requests are calls of an operation: each uses the policies, breakers and pool that the
   * configuration has when it starts, and is recorded. Retries follow the rules of HTTP, as those of `createFetch` of
   * `holdfast/http` do. With `deadLetter`, a request that fails is stored and can be replayed.
   *
   * @throws INVALID_OPTIONS for unknown or wrong options
   *
   * @example
   * ```ts
   * import { Holdfast } from '@holdfast/runtime'
   *
   * const hf = await Holdfast.open({ config: { policies: { api: { maxAttempts: 3, backoffType: 'immediate' } } } })
   * const statuses = [503, 200]
   * const request = hf.createFetch('api', {
   *   fetch: async () => new Response('hello', { status: statuses.shift() ?? 500 }), // in place of the global fetch
   * })
   * const response = await request('https://api.example/greeting')
   * response.status // => 200
   * const { items } = await hf.sessions.list()
   * items.map(({ operation, totalAttempts }) => [operation, totalAttempts]) // => [['api', 2]]
   * await hf.close()
   * ```
   */
  createFetch(operation: OperationName, options?: RuntimeFetchOptions): ResilientFetch {
    checkOperation(operation)
    return this.container.requests.createFetch(operation, options)
  }

  /**
   * Creates an interceptor for undici whose requests are calls of an operation, as those of {@link createFetch} are:
   * `agent.compose(hf.undici('api'))`.
   *
   * @throws INVALID_OPTIONS for unknown or wrong options
   */
  undici(operation: OperationName, options?: RequestOptions): ResilienceInterceptor {
    checkOperation(operation)
    return this.container.requests.createInterceptor(operation, options)
  }

  /**
   * The overrides of the file and of the environment, which `configureDecorators({ runtime: hf })` passes to decorated
   * methods.
   */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    return this.config.overrides(method)
  }

  /** Calls `changed` when another configuration becomes active, until the returned function is called. */
  follow(changed: () => void): () => void {
    return this.container.runtime.bus.on('config_reloaded', changed)
  }

  /** Creates a guard with its own options for a decorated method. Its calls are recorded and logged like all others. */
  guardFor(name: string, options: GuardOptions): Guard {
    return this.container.calls.guardFor(name, options)
  }

  /** The remaining retry budget of each policy. */
  budgets(): Iterable<readonly [policyId: string, left: number]> {
    return this.container.policyLimits.budgetsLeft()
  }

  /**
   * The live nodes of the fleet, sorted by id, each with its breakers that are not closed. Without a fleet, or while Redis
   * is unavailable, only this process.
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

  /** Creates a pipeline that passes items through steps. Each step has its own operation. */
  pipeline(steps: readonly Step[]): Pipeline {
    return this.pipelines.createPipeline(steps)
  }

  /** The health of the runtime. */
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

  /** Rejects new calls, waits up to 10 s for active ones, cancels the remaining ones, and writes all records. */
  close(): Promise<void> {
    this.closing ??= this.container.stop().finally(() => {
      this.isClosed = true
      for (const listener of this.closeListeners.splice(0)) listener()
    })
    return this.closing
  }

  /** @internal Calls the function when the runtime is closed, or now if it is. */
  onClosed(listener: () => void): void {
    if (this.isClosed) listener()
    else this.closeListeners.push(listener)
  }
}

/** How a runtime reaches its servers. A simulation passes substitutes. */
export interface RuntimePorts {
  /** Opens the store of a url. */
  openStore?: typeof openStore | undefined
  /** How a fleet reaches Redis. @defaultValue ioredis */
  redisDriver?: RedisDriver | undefined
  /** Milliseconds between two reads of the changes that other processes made through the API. @defaultValue 1000 */
  refreshInterval?: number | undefined
  /** What names of this process in the store contain. @defaultValue those of the operating system */
  identity?: ProcessIdentity | undefined
}

/** Creates the runtime outside its class, because esbuild renames a class that refers to itself. */
export async function openRuntime(input: string | OpenOptions, ports: RuntimePorts = {}): Promise<Holdfast> {
  const options: OpenOptions = typeof input === 'string' ? { config: input } : input
  checkOpenOptions(options)
  const { clock = systemClock, random = systemRandom, env = process.env } = options
  const source = await loadSource(options.config, env, options.fallback === true)
  const storeOf = (config: Config) =>
    options.store ?? config.store ?? (source.file ? DEFAULT_STORE : 'memory')
  const url = storeOf(source.checked.config)
  const isChosen = options.store !== undefined || source.checked.config.store !== undefined
  const open = ports.openStore ?? openStore
  const store = await open(url, { dir: source.dir }).catch((error: unknown) => {
    throw isChosen ? error : defaultStoreError(url, error)
  })
  try {
    const { redisDriver, refreshInterval, identity } = ports
    const container = new RuntimeContainer({
      clock,
      random,
      options,
      source,
      store,
      url,
      storeOf,
      redisDriver,
      refreshInterval,
      identity,
    })
    await container.start(options.watch !== false)
    return new (Holdfast as unknown as new (container: RuntimeContainer) => Holdfast)(container)
  } catch (error) {
    await store.close().catch(() => {})
    throw error
  }
}
