import { resolve } from 'node:path'
import {
  ActiveConfig,
  type Actor,
  ApiChanges,
  type CallConfiguration,
  type Config,
  type ConfigSource,
  callConfiguration,
  checkConfig,
  type DeadLetterOptions,
  type DecoratedMethod,
  deadLetterOptions,
  decoratorOverrides,
  type Environment,
  type ErrorLogOptions,
  type Explanation,
  errorLogOptions,
  explain,
  FileReload,
  isVariableName,
  type Layer,
  type LayeredMember,
  layeredMembers,
  lineOf,
  type MemberEntry,
  type Problem,
  type Reloaded,
  type RuntimeContext,
} from '@holdfast/config'
import { errorMessageOf } from '@holdfast/records'
import type { PolicyService } from '../api-types.js'
import { parseActor } from '../call-options.js'
import { PayloadCipher } from '../dead-letters/payload-cipher.js'

export type { Reloaded } from '@holdfast/config'

export interface ConfigurationDependencies {
  runtime: RuntimeContext
  source: ConfigSource
  env: Environment
  /** Where records live, and where they would live by another configuration. */
  storeUrl: string
  storeOf(config: Config): string
  /** Puts what was resolved in force. Throws where that cannot be. */
  apply(): void
}

/** The configuration in force: the file or object it came from, the changes made through the API, and their history. */
export class Configuration {
  /** Policies as they are in force. */
  readonly policies: PolicyService
  private readonly deps: ConfigurationDependencies
  private readonly activeConfig: ActiveConfig
  private readonly fileReload: FileReload
  private readonly apiChanges: ApiChanges
  private queue: Promise<unknown> = Promise.resolve()
  /** The decorated methods that were called. */
  private readonly decoratedMethods = new Map<string, DecoratedMethod>()

  constructor(parts: ConfigurationDependencies) {
    const { runtime, source, apply } = parts
    this.deps = parts
    this.activeConfig = new ActiveConfig(runtime, source, apply)
    const vault = new PayloadCipher(() => this.deadLetterOptions())
    this.apiChanges = new ApiChanges(runtime, this.activeConfig, () => vault.keyRing)
    this.fileReload = new FileReload({
      ...parts,
      activeConfig: this.activeConfig,
      resolvePath: (path) => this.path(path),
      serialize: (change) => this.serialize(change),
    })
    this.policies = {
      get: async (id) => this.activeConfig.policy(id),
      list: async () => [...this.activeConfig.resolved.policies.values()].map(({ policy }) => policy),
      put: (policy, actor) => this.runChange(actor, (by) => this.apiChanges.putPolicy(policy, by)),
      delete: (id, actor) => this.runChange(actor, (by) => this.apiChanges.deletePolicy(id, by)),
    }
  }

  /** What is in force, frozen: the file's or object's own words, without the changes made through the API. */
  get current(): Config {
    return this.activeConfig.loaded.config
  }

  /** The changes made through the API, wire spelling. */
  get layer(): Layer {
    return this.activeConfig.layer
  }

  /** The file it came from. */
  get file(): string | undefined {
    return this.deps.source.file
  }

  /** What is worth knowing about what is in force. */
  get warnings(): readonly Problem[] {
    return this.activeConfig.loaded.warnings
  }

  /** Whether what is in force is not what the file says. */
  get degraded(): boolean {
    return this.activeConfig.degraded
  }

  /** How an operation is guarded: each effective value with its origin, and the waits it means. */
  async explain(operation: string): Promise<Explanation> {
    return explain(
      this.activeConfig.resolved,
      operation,
      this.decoratedMethods.values(),
      this.activeConfig.ignoredOverrideNotes,
    )
  }

  /** What would be wrong with a text, without putting it in force. */
  async validate(
    text: string,
  ): Promise<{ valid: boolean; errors: readonly Problem[]; warnings: readonly Problem[] }> {
    const { config, problems, warnings } = checkConfig(text, { env: this.deps.env })
    return { valid: config !== undefined, errors: problems, warnings }
  }

  /**
   * Reads the file again and puts it in force as a whole, or not at all. Tells what became of it; a configuration that
   * came as an object stays as it is.
   *
   * @throws CONFIG_INVALID that lists everything wrong; what was in force stays so
   */
  reload(actor?: Actor): Promise<Reloaded> {
    return this.runChange(actor, (by) => this.fileReload.reload(by))
  }

  /** The versions of the changes made through the API, newest first. */
  history() {
    return this.apiChanges.history()
  }

  /** Brings the changes made through the API back to a version. @throws INVALID_OPTIONS */
  rollback(version: number, actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.rollback(version, by))
  }

  /** Drops the changes made through the API. */
  clear(actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.clear(by))
  }

  /** Restores the changes made through the API and puts everything in force. */
  async open(): Promise<void> {
    const { runtime, source } = this.deps
    await this.apiChanges.refresh(await this.fileReload.readMembers(this.current))
    for (const warning of this.warnings) {
      runtime.logger.warn({ config: this.file }, lineOf(warning, this.file))
      // What stands in the file can be checked there; a variable that nobody reads is seen nowhere else.
      if (isVariableName(warning.path)) runtime.warn(lineOf(warning, this.file))
    }
    if (source.loadError === undefined) return
    const reason = errorMessageOf(source.loadError)
    runtime.warn(`the configuration could not be loaded, the ready policies stand in for it: ${reason}`)
    runtime.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file: this.file, reason, fallback: true },
    })
  }

  /** Takes over what another process has changed through the API. */
  refresh(): Promise<void> {
    return this.serialize(() => this.apiChanges.refresh())
  }

  /** The same, where another process has changed anything. */
  look(): Promise<void> {
    return this.serialize(() => this.apiChanges.refreshIfChanged())
  }

  /**
   * When a policy became what it is: when it was changed, or when this began where that is not known.
   *
   * @throws POLICY_NOT_FOUND
   */
  async changedAt(policyId: string): Promise<Date> {
    this.activeConfig.policy(policyId)
    return this.activeConfig.changedAt(policyId, () => this.apiChanges.changedAt(policyId))
  }

  /** @internal Encrypts the credentials of members that were added through the API with the newest key. */
  rotateKeys(): Promise<{ rewritten: number; unreadable: string[] }> {
    return this.serialize(() => this.apiChanges.rotateKeys())
  }

  /** Follows the file. */
  follow(): void {
    this.fileReload.watchFile()
  }

  /** Follows nothing more, and resolves when no change is under way. */
  async close(): Promise<void> {
    this.fileReload.close()
    await this.queue
  }

  /** The members of a pool that files have. */
  filedMembers(pool: string): readonly MemberEntry[] {
    return [
      ...(this.current.pools?.[pool]?.members ?? []),
      ...(this.activeConfig.fileMembers.get(pool) ?? []),
    ]
  }

  /** The members of a pool: those that files have, and what was changed of them through the API. */
  members(pool: string): readonly LayeredMember[] {
    return layeredMembers(this.layer, pool, this.filedMembers(pool))
  }

  /**
   * Changes the layer of the API and puts it in force; `runChange` may be called again where somebody else was quicker. What
   * `runChange` throws is thrown, and nothing is changed.
   */
  changeLayer(change: (layer: Layer) => Layer, actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.change(change, by))
  }

  /** As far as calls are concerned. */
  ruling(): CallConfiguration {
    return callConfiguration(this.activeConfig.resolved)
  }

  /** As far as dead letters are concerned. */
  deadLetterOptions(): DeadLetterOptions {
    return deadLetterOptions(this.current, (path) => this.path(path))
  }

  /** As far as the error log is concerned. */
  errorLogOptions(): ErrorLogOptions {
    return errorLogOptions(this.current, (path) => this.path(path), this.deps.storeUrl)
  }

  /** Overrides of decorated methods: those of the environment over the file's. */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    if (method !== undefined) this.decoratedMethods.set(`${method.owner}/${method.method}`, method)
    const { overrideVariables = {} } = this.activeConfig.loaded
    return decoratorOverrides(this.current.overrides, overrideVariables, method === undefined ? [] : [method])
  }

  /** A path of the file, which begins where the file lies. */
  path(path: string): string {
    return resolve(this.deps.source.dir, path)
  }

  /** What somebody asks for: one change at a time. */
  private runChange<T>(actor: Actor | undefined, change: (actor: Actor) => Promise<T>): Promise<T> {
    return this.serialize(async () => change(parseActor(actor)))
  }

  /** One change at a time. */
  private serialize<T>(change: () => Promise<T>): Promise<T> {
    const next = this.queue.then(change)
    this.queue = next.catch(() => {})
    return next
  }
}
