import { resolve } from 'node:path'
import type { Ruling } from './calls/ruling.js'
import { checkConfig } from './config/check.js'
import { isVariable } from './config/environment.js'
import { type Explanation, explain } from './config/explain.js'
import { FileReload, type Reloaded } from './config/file/reload.js'
import { deadLettersOf, errorLogOf, rulingOf } from './config/for-parts.js'
import { InForce } from './config/in-force.js'
import { ApiChanges } from './config/layer/api-changes.js'
import type { Layer } from './config/layer/layer.js'
import { type LayeredMember, layeredMembers, type MemberEntry } from './config/layer/members.js'
import { type DecoratedMethod, decoratorOverrides } from './config/overrides.js'
import { lineOf, type Problem } from './config/problem.js'
import type { Config } from './config/schema/schema.js'
import type { Source } from './config/source.js'
import type { Environment } from './config/text/interpolate.js'
import type { DeadLetterOptions } from './dead-letters/options.js'
import { Vault } from './dead-letters/vault.js'
import type { ErrorLogOptions } from './error-log/files.js'
import type { PolicyService } from './face.js'
import { actorOf } from './given.js'
import type { Actor, Kit } from './kit.js'
import { messageOf } from './records/summary.js'

export type { Reloaded } from './config/file/reload.js'

export interface ConfigurationParts {
  kit: Kit
  source: Source
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
  private readonly parts: ConfigurationParts
  private readonly inForce: InForce
  private readonly files: FileReload
  private readonly changes: ApiChanges
  private work: Promise<unknown> = Promise.resolve()
  /** The decorated methods that were called. */
  private readonly methods = new Map<string, DecoratedMethod>()

  constructor(parts: ConfigurationParts) {
    const { kit, source, apply } = parts
    this.parts = parts
    this.inForce = new InForce(kit, source, apply)
    const vault = new Vault(() => this.deadLetterOptions())
    this.changes = new ApiChanges(kit, this.inForce, () => vault.keys)
    this.files = new FileReload({
      ...parts,
      inForce: this.inForce,
      path: (path) => this.path(path),
      alone: (change) => this.alone(change),
    })
    this.policies = {
      get: async (id) => this.inForce.policy(id),
      list: async () => [...this.inForce.resolved.policies.values()].map(({ policy }) => policy),
      put: (policy, actor) => this.change(actor, (by) => this.changes.put(policy, by)),
      delete: (id, actor) => this.change(actor, (by) => this.changes.remove(id, by)),
    }
  }

  /** What is in force, frozen: the file's or object's own words, without the changes made through the API. */
  get current(): Config {
    return this.inForce.loaded.config
  }

  /** The changes made through the API, wire spelling. */
  get layer(): Layer {
    return this.inForce.layer
  }

  /** The file it came from. */
  get file(): string | undefined {
    return this.parts.source.file
  }

  /** What is worth knowing about what is in force. */
  get warnings(): readonly Problem[] {
    return this.inForce.loaded.warnings
  }

  /** Whether what is in force is not what the file says. */
  get degraded(): boolean {
    return this.inForce.degraded
  }

  /** How an operation is guarded: each effective value with its origin, and the waits it means. */
  async explain(operation: string): Promise<Explanation> {
    return explain(this.inForce.resolved, operation, this.methods.values(), this.inForce.leftOutNotes)
  }

  /** What would be wrong with a text, without putting it in force. */
  async validate(
    text: string,
  ): Promise<{ valid: boolean; errors: readonly Problem[]; warnings: readonly Problem[] }> {
    const { config, problems, warnings } = checkConfig(text, { env: this.parts.env })
    return { valid: config !== undefined, errors: problems, warnings }
  }

  /**
   * Reads the file again and puts it in force as a whole, or not at all. Tells what became of it; a configuration that
   * came as an object stays as it is.
   *
   * @throws CONFIG_INVALID that lists everything wrong; what was in force stays so
   */
  reload(actor?: Actor): Promise<Reloaded> {
    return this.change(actor, (by) => this.files.now(by))
  }

  /** The versions of the changes made through the API, newest first. */
  history() {
    return this.changes.history()
  }

  /** Brings the changes made through the API back to a version. @throws INVALID_OPTIONS */
  rollback(version: number, actor?: Actor): Promise<void> {
    return this.change(actor, (by) => this.changes.rollback(version, by))
  }

  /** Drops the changes made through the API. */
  clear(actor?: Actor): Promise<void> {
    return this.change(actor, (by) => this.changes.clear(by))
  }

  /** Restores the changes made through the API and puts everything in force. */
  async open(): Promise<void> {
    const { kit, source } = this.parts
    await this.changes.refresh(await this.files.members(this.current))
    for (const warning of this.warnings) {
      kit.logger.warn({ config: this.file }, lineOf(warning, this.file))
      // What stands in the file can be checked there; a variable that nobody reads is seen nowhere else.
      if (isVariable(warning.path)) kit.complain(lineOf(warning, this.file))
    }
    if (source.failed === undefined) return
    const reason = messageOf(source.failed)
    kit.complain(`the configuration could not be loaded, the ready policies stand in for it: ${reason}`)
    kit.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file: this.file, reason, fallback: true },
    })
  }

  /** Takes over what another process has changed through the API. */
  refresh(): Promise<void> {
    return this.alone(() => this.changes.refresh())
  }

  /** The same, where another process has changed anything. */
  look(): Promise<void> {
    return this.alone(() => this.changes.look())
  }

  /**
   * When a policy became what it is: when it was changed, or when this began where that is not known.
   *
   * @throws POLICY_NOT_FOUND
   */
  async changedAt(policyId: string): Promise<Date> {
    this.inForce.policy(policyId)
    return this.inForce.changedAt(policyId, () => this.changes.changedAt(policyId))
  }

  /** @internal Encrypts the credentials of members that were added through the API with the newest key. */
  rotateKeys(): Promise<{ rewritten: number; unreadable: string[] }> {
    return this.alone(() => this.changes.rotateKeys())
  }

  /** Follows the file. */
  follow(): void {
    this.files.follow()
  }

  /** Follows nothing more, and resolves when no change is under way. */
  async close(): Promise<void> {
    this.files.close()
    await this.work
  }

  /** The members of a pool that files have. */
  filedMembers(pool: string): readonly MemberEntry[] {
    return [...(this.current.pools?.[pool]?.members ?? []), ...(this.inForce.listed.get(pool) ?? [])]
  }

  /** The members of a pool: those that files have, and what was changed of them through the API. */
  members(pool: string): readonly LayeredMember[] {
    return layeredMembers(this.layer, pool, this.filedMembers(pool))
  }

  /**
   * Changes the layer of the API and puts it in force; `change` may be called again where somebody else was quicker. What
   * `change` throws is thrown, and nothing is changed.
   */
  changeLayer(change: (layer: Layer) => Layer, actor?: Actor): Promise<void> {
    return this.change(actor, (by) => this.changes.change(change, by))
  }

  /** As far as calls are concerned. */
  ruling(): Ruling {
    return rulingOf(this.inForce.resolved)
  }

  /** As far as dead letters are concerned. */
  deadLetterOptions(): DeadLetterOptions {
    return deadLettersOf(this.current, (path) => this.path(path))
  }

  /** As far as the error log is concerned. */
  errorLogOptions(): ErrorLogOptions {
    return errorLogOf(this.current, (path) => this.path(path), this.parts.storeUrl)
  }

  /** Overrides of decorated methods: those of the environment over the file's. */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    if (method !== undefined) this.methods.set(`${method.owner}/${method.method}`, method)
    const { overrideVariables = {} } = this.inForce.loaded
    return decoratorOverrides(this.current.overrides, overrideVariables, method === undefined ? [] : [method])
  }

  /** A path of the file, which begins where the file lies. */
  path(path: string): string {
    return resolve(this.parts.source.dir, path)
  }

  /** What somebody asks for: one change at a time. */
  private change<T>(actor: Actor | undefined, change: (actor: Actor) => Promise<T>): Promise<T> {
    return this.alone(async () => change(actorOf(actor)))
  }

  /** One change at a time. */
  private alone<T>(change: () => Promise<T>): Promise<T> {
    const next = this.work.then(change)
    this.work = next.catch(() => {})
    return next
  }
}
