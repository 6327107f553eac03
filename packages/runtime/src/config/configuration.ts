import { resolve } from 'node:path'
import {
  ActiveConfig,
  type Actor,
  ApiChanges,
  type CallConfiguration,
  type Config,
  type ConfigSource,
  callConfiguration,
  type DeadLetterOptions,
  deadLetterOptions,
  decoratorOverrides,
  describeProblem,
  type Environment,
  type ErrorLogOptions,
  type Explanation,
  errorLogOptions,
  explain,
  FileReload,
  isVariableName,
  type Layer,
  type LayerDifference,
  type LayeredMember,
  layeredMembers,
  lineOf,
  type MemberEntry,
  type Problem,
  type Reloaded,
  type RuntimeContext,
} from '@holdfast/config'
import { errorMessageOf, type RetryPolicy } from '@holdfast/records'
import type { DecoratedMethod } from 'holdfast/decorators'
import type { PolicyService } from '../api-types.js'
import { parseActor } from '../call-options.js'
import { PayloadCipher } from '../dead-letters/payload-cipher.js'
import type { OperationName } from '../operations.js'
import { TextValidator } from './text-validator.js'

export type { Reloaded } from '@holdfast/config'

export interface ConfigurationDependencies {
  runtime: RuntimeContext
  source: ConfigSource
  env: Environment
  /** The url of the open store, and the url that another configuration would have. */
  storeUrl: string
  storeOf(config: Config): string
  /** Applies the resolved configuration. Throws where that is not possible. */
  apply(): void
}

/** The active configuration: its file or object, the changes made through the API, and their history. */
export class Configuration {
  /** The active policies. */
  readonly policies: PolicyService
  private readonly deps: ConfigurationDependencies
  private readonly activeConfig: ActiveConfig
  private readonly fileReload: FileReload
  private readonly apiChanges: ApiChanges
  private queue: Promise<unknown> = Promise.resolve()
  private readonly textValidator: TextValidator
  /** The decorated methods that were called. */
  private readonly decoratedMethods = new Map<string, DecoratedMethod>()

  constructor(parts: ConfigurationDependencies) {
    const { runtime, source, apply } = parts
    this.deps = parts
    this.textValidator = new TextValidator(parts.env)
    this.activeConfig = new ActiveConfig(runtime, source, apply)
    const payloadCipher = new PayloadCipher(() => this.deadLetterOptions())
    this.apiChanges = new ApiChanges(runtime, this.activeConfig, () => payloadCipher.keyRing)
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

  /**
   * @internal Creates or replaces a policy that is given as on the wire, in snake_case and seconds. The problems of
   * CONFIG_INVALID have the same names and units.
   */
  putWirePolicy(policy: { readonly id: string }, actor?: Actor): Promise<RetryPolicy> {
    return this.runChange(actor, (by) => this.apiChanges.putPolicy(policy, by, 'wire'))
  }

  /** The frozen configuration of the file or object, without the changes made through the API. */
  get current(): Config {
    return this.activeConfig.loaded.config
  }

  /** @internal The policy of the file or the built-in policy, without live changes; undefined where there is none. */
  filePolicy(id: string): RetryPolicy | undefined {
    return this.activeConfig.filePolicy(id)
  }

  /** The changes made through the API, with the keys of the wire format. */
  get layer(): Layer {
    return this.activeConfig.layer
  }

  /** The path of the config file. */
  get file(): string | undefined {
    return this.deps.source.file
  }

  /** The warnings about the active configuration. */
  get warnings(): readonly Problem[] {
    return this.activeConfig.loaded.warnings.map(describeProblem)
  }

  /**
   * Whether the active configuration differs from the file, because a part of the file or of the API's changes cannot be
   * used.
   */
  get degraded(): boolean {
    return this.activeConfig.degraded
  }

  /** @internal A copy of a value with secrets redacted, as records of this runtime are. */
  redact<T>(value: T): T {
    return this.deps.runtime.redact(value)
  }

  /** Explains how an operation is protected: each effective value with its origin, and the resulting delays. */
  async explain(operation: OperationName): Promise<Explanation> {
    return explain(
      this.activeConfig.resolved,
      operation,
      this.decoratedMethods.values(),
      this.activeConfig.ignoredOverrideNotes,
    )
  }

  /** Lists the problems of a config text without applying it. @throws CANCELLED if the runtime closes before */
  async validate(
    text: string,
  ): Promise<{ valid: boolean; errors: readonly Problem[]; warnings: readonly Problem[] }> {
    return this.textValidator.validate(text)
  }

  /**
   * Reads the file again and applies it completely or not at all. Returns the outcome. A configuration that was passed as
   * an object does not change.
   *
   * @throws CONFIG_INVALID that lists all problems; the previous configuration stays active
   */
  reload(actor?: Actor): Promise<Reloaded> {
    return this.runChange(actor, (by) => this.fileReload.reload(by))
  }

  /** The versions of the changes made through the API, newest first. */
  history() {
    return this.apiChanges.history()
  }

  /**
   * The differences from one version of the live changes to another: what a rollback to the version `to` would change. 0 is
   * the state without changes; `from` is the newest version by default. @throws INVALID_OPTIONS
   */
  diff(to: number, from?: number): Promise<LayerDifference[]> {
    return this.apiChanges.diff(to, from)
  }

  /** Returns to an earlier version of the changes made through the API. @throws INVALID_OPTIONS */
  rollback(version: number, actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.rollback(version, by))
  }

  /** Deletes the changes made through the API. */
  clear(actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.clear(by))
  }

  /** Restores the changes made through the API and applies the configuration. */
  async open(): Promise<void> {
    const { runtime, source } = this.deps
    await this.apiChanges.refresh(await this.fileReload.readMembers(this.current))
    for (const warning of this.warnings) {
      runtime.logger.warn({ config: this.file }, lineOf(warning, this.file))
      // A warning about the file can also be seen with `holdfast config validate`; one about a variable is reported only
      // here.
      if (isVariableName(warning.path)) runtime.warn(lineOf(warning, this.file))
    }
    if (source.loadError === undefined) return
    const reason = errorMessageOf(source.loadError)
    runtime.warn(`the configuration could not be loaded, the built-in policies are used instead: ${reason}`)
    runtime.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file: this.file, reason, fallback: true },
    })
  }

  /** Reads and applies the changes that other processes made through the API. */
  refresh(): Promise<void> {
    return this.serialize(() => this.apiChanges.refresh())
  }

  /** Like {@link refresh}, but reads the changes only if another process has made any. */
  look(): Promise<void> {
    return this.serialize(() => this.apiChanges.refreshIfChanged())
  }

  /**
   * When a policy was last changed; the start of this process if that is not known.
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

  /** Watches the file, and reloads it when it changes. */
  follow(): void {
    this.fileReload.watchFile()
  }

  /** Stops watching the file, and resolves when no change is in progress. */
  async close(): Promise<void> {
    this.fileReload.close()
    this.textValidator.close()
    await this.queue
  }

  /** The members of a pool that the config file and member files list. */
  filedMembers(pool: string): readonly MemberEntry[] {
    return [
      ...(this.current.pools?.[pool]?.members ?? []),
      ...(this.activeConfig.fileMembers.get(pool) ?? []),
    ]
  }

  /** The members of a pool: those of the files, with the changes made through the API. */
  members(pool: string): readonly LayeredMember[] {
    return layeredMembers(this.layer, pool, this.filedMembers(pool))
  }

  /**
   * Changes the layer of the API and applies it. `change` runs again if another process changed the layer first. An error
   * of `change` is thrown, and nothing changes.
   */
  changeLayer(change: (layer: Layer) => Layer, actor?: Actor): Promise<void> {
    return this.runChange(actor, (by) => this.apiChanges.change(change, by))
  }

  /** Creates the configuration that calls use: policies and operations with all layers applied. */
  ruling(): CallConfiguration {
    return callConfiguration(this.activeConfig.resolved)
  }

  /** The configuration of dead letters. */
  deadLetterOptions(): DeadLetterOptions {
    return deadLetterOptions(this.current, (path) => this.path(path))
  }

  /** The configuration of the error log. */
  errorLogOptions(): ErrorLogOptions {
    return errorLogOptions(this.current, (path) => this.path(path), this.deps.storeUrl)
  }

  /** The overrides of decorated methods. Those of the environment take precedence over those of the file. */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    if (method !== undefined) this.decoratedMethods.set(`${method.owner}/${method.method}`, method)
    const { overrideVariables = {} } = this.activeConfig.loaded
    return decoratorOverrides(this.current.overrides, overrideVariables, method === undefined ? [] : [method])
  }

  /** Resolves a path of the file relative to the folder of the file. */
  path(path: string): string {
    return resolve(this.deps.source.dir, path)
  }

  /** Runs a change that a caller requests, after the changes before it. */
  private runChange<T>(actor: Actor | undefined, change: (actor: Actor) => Promise<T>): Promise<T> {
    return this.serialize(async () => change(parseActor(actor)))
  }

  /** Runs one change at a time. */
  private serialize<T>(change: () => Promise<T>): Promise<T> {
    const next = this.queue.then(change)
    this.queue = next.catch(() => {})
    return next
  }
}
