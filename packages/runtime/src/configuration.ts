import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HoldfastError, isHoldfastError } from 'holdfast'
import type { OperationRules, Ruling } from './calls/lines.js'
import { type Checked, checkConfig } from './config/check.js'
import { type Explanation, explain, hiddenNote } from './config/explain.js'
import { checkText } from './config/file/check-text.js'
import { type Watch, watchConfig } from './config/file/watch.js'
import { deletePolicy, putPolicy } from './config/layer/changes.js'
import { contradictionsOf, refuseContradictions } from './config/layer/contradictions.js'
import { differences, hiddenByReload, hiddenMembers, toWireDifference } from './config/layer/hidden.js'
import { LayerHistory } from './config/layer/history.js'
import type { Layer } from './config/layer/layer.js'
import { type LayeredMember, layeredMembers, type MemberEntry } from './config/layer/members.js'
import { resolveOperation } from './config/operations.js'
import { type DecoratedMethod, decoratorOverrides } from './config/overrides.js'
import { configInvalid, lineOf, type Problem } from './config/problem.js'
import { DEFAULT_POLICY } from './config/ready.js'
import { type ResolvedConfig, resolveConfig } from './config/resolved.js'
import { waitingForRestart } from './config/restart.js'
import type { Config } from './config/schema/schema.js'
import { type SoundConfig, type Source, sound, textOf } from './config/source.js'
import type { Environment } from './config/text/interpolate.js'
import { DEAD_LETTER_DEFAULTS, type DeadLetterOptions } from './dead-letters/options.js'
import type { ErrorLogOptions } from './error-log/files.js'
import type { PolicyService } from './face.js'
import type { Actor, Kit } from './kit.js'
import { type Listed, MemberFiles } from './pools/member-files.js'
import { breakerOptions } from './pools/pools.js'
import { policyCodec, type RetryPolicy } from './records/policy.js'
import { messageOf } from './records/summary.js'

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

/** What became of a file that was read again. */
export interface Reloaded {
  /** How many fields of policies are others than before. */
  readonly changes: number
  /** What is worth knowing about what is in force, what waits for the process to begin again included. */
  readonly warnings: readonly Problem[]
  /** Values of the file that changes through the API hide, a sentence each. */
  readonly hidden: readonly string[]
}

/** The configuration in force: the file or object it came from, the changes made through the API, and their history. */
export class Configuration {
  /** Policies as they are in force. */
  readonly policies: PolicyService
  private readonly parts: ConfigurationParts
  private readonly layers: LayerHistory
  private loaded: SoundConfig
  private resolved: ResolvedConfig
  private watch: Watch | undefined = undefined
  private work: Promise<unknown> = Promise.resolve()
  /** The decorated methods that were called. */
  private readonly methods = new Map<string, DecoratedMethod>()
  /** The changes made through the API, wire spelling. */
  layer: Layer = {}
  /** The members of pools that files of their own list. */
  listed: Listed = new Map()
  private readonly memberFiles: MemberFiles
  private following = false
  /** Whether what is in force is not what the file says. */
  degraded = false

  constructor(parts: ConfigurationParts) {
    const { kit, source } = parts
    this.parts = parts
    this.loaded = source.checked
    this.degraded = source.failed !== undefined
    this.layers = new LayerHistory(kit)
    this.memberFiles = new MemberFiles({
      kit,
      path: (path) => this.path(path),
      changed: (pool, members) => {
        this.listed = new Map(this.listed).set(pool, members)
        parts.apply()
      },
    })
    this.resolved = this.resolve(source.checked)
    this.policies = {
      get: async (id) => this.policy(id),
      list: async () => [...this.resolved.policies.values()].map(({ policy }) => policy),
      put: (policy, actor) => this.put(policy, actor),
      delete: (id, actor) => this.remove(id, actor),
    }
  }

  /** What is in force, frozen: the file's or object's own words, without the changes made through the API. */
  get current(): Config {
    return this.loaded.config
  }

  /** The file it came from. */
  get file(): string | undefined {
    return this.parts.source.file
  }

  /** What is worth knowing about what is in force. */
  get warnings(): readonly Problem[] {
    return this.loaded.warnings
  }

  /** How an operation is guarded: each effective value with its origin, and the waits it means. */
  async explain(operation: string): Promise<Explanation> {
    return explain(this.resolved, operation, this.methods.values())
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
  reload(actor: Actor = {}): Promise<Reloaded> {
    return this.alone(() => this.read(actor))
  }

  /** The versions of the changes made through the API, newest first. */
  history() {
    return this.layers.history()
  }

  /** Brings the changes made through the API back to a version. @throws INVALID_OPTIONS */
  rollback(version: number, actor: Actor = {}): Promise<void> {
    return this.alone(async () => {
      const before = this.layer
      await this.relay(() => this.layers.rollback(version, actor), actor)
      await this.parts.kit.audit(actor, 'config.rollback', `version ${version}`, {
        before,
        after: this.layer,
      })
    })
  }

  /** Drops the changes made through the API. */
  clear(actor: Actor = {}): Promise<void> {
    return this.alone(async () => {
      const before = this.layer
      await this.relay(() => this.layers.clear(actor), actor)
      await this.parts.kit.audit(actor, 'config.clear', 'layer', { before })
    })
  }

  /** Restores the changes made through the API and puts everything in force. */
  async open(): Promise<void> {
    const { kit, source, apply } = this.parts
    this.layer = await this.layers.load()
    this.resolved = this.resolve(this.loaded)
    this.leaveOutWhatContradicts()
    this.listed = await this.memberFiles.read(this.current)
    apply()
    for (const warning of this.loaded.warnings)
      kit.logger.warn({ config: this.file }, lineOf(warning, this.file))
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
    return this.alone(async () => {
      this.layer = await this.layers.load()
      this.resolved = this.resolve(this.loaded)
      this.leaveOutWhatContradicts()
      this.parts.apply()
    })
  }

  /** Follows the file. */
  follow(): void {
    const { kit, source, env } = this.parts
    const { file } = this
    this.following = true
    this.memberFiles.follow(this.current)
    if (file === undefined) return
    this.watch = watchConfig(file, {
      clock: kit.clock,
      text: source.text,
      onChange: (text) =>
        this.alone(() => this.take(() => checkText(text, { file, env }), { by: 'file' })).then(
          () => {},
          () => {}, // it has been told
        ),
      onError: (error) => kit.complain(`the configuration cannot be read: ${messageOf(error)}`),
    })
  }

  /** Follows nothing more, and resolves when no change is under way. */
  async close(): Promise<void> {
    this.following = false
    this.watch?.close()
    this.watch = undefined
    this.memberFiles.close()
    await this.work
  }

  /** The members of a pool that files have. */
  filedMembers(pool: string): readonly MemberEntry[] {
    return [...(this.current.pools?.[pool]?.members ?? []), ...(this.listed.get(pool) ?? [])]
  }

  /** The members of a pool: those that files have, and what was changed of them through the API. */
  members(pool: string): readonly LayeredMember[] {
    return layeredMembers(this.layer, pool, this.filedMembers(pool))
  }

  /**
   * Changes the layer of the API and puts it in force; `change` may be called again where somebody else was quicker. What
   * `change` throws is thrown, and nothing is changed.
   */
  changeLayer(change: (layer: Layer) => Layer, actor: Actor = {}): Promise<void> {
    return this.alone(() => this.relay(() => this.layers.change(change, actor), actor))
  }

  /** As far as calls are concerned. */
  ruling(): Ruling {
    const { resolved } = this
    const { config } = resolved
    const policies = new Map([...resolved.policies].map(([id, { policy }]) => [id, policy]))
    return {
      policies,
      operation: (name): OperationRules => {
        const plan = resolveOperation(resolved, name)
        const { kinds, fallbackPolicyId, subsystem } = plan
        return {
          ...plan,
          mapped: kinds.size > 0 || fallbackPolicyId !== DEFAULT_POLICY,
          switchedOn: subsystem === undefined || config.subsystems?.[subsystem]?.enabled !== false,
        }
      },
      breakers: new Map(
        Object.entries(config.circuitBreakers ?? {}).map(([name, entry]) => [
          name,
          { options: breakerOptions(entry), persist: entry.persistState ?? false },
        ]),
      ),
      poolPolicy: (pool) => config.pools?.[pool]?.policy,
    }
  }

  /** As far as dead letters are concerned. */
  deadLetterOptions(): DeadLetterOptions {
    const { handlers, ...said } = this.current.deadLetters ?? {}
    return {
      ...DEAD_LETTER_DEFAULTS,
      ...(said as Partial<DeadLetterOptions>),
      ...(handlers !== undefined && { handlersFile: this.path(handlers) }),
    }
  }

  /** As far as the error log is concerned. */
  errorLogOptions(): ErrorLogOptions {
    const { dir, ...said } = this.current.errorLog ?? {}
    if (dir === undefined) return said
    // A store of files keeps the same records in the same form, in `logs`: once is enough.
    const own = /^files:(.*)$/s.exec(this.parts.storeUrl)?.[1]
    return own !== undefined && this.path(dir) === resolve(this.path(own), 'logs')
      ? said
      : { ...said, dir: this.path(dir) }
  }

  /** Overrides of decorated methods: those of the environment over the file's. */
  overrides(method?: DecoratedMethod): Record<string, unknown> {
    if (method !== undefined) this.methods.set(`${method.owner}/${method.method}`, method)
    return decoratorOverrides(this.current.overrides, this.parts.env, method === undefined ? [] : [method])
  }

  /** A path of the file, which begins where the file lies. */
  path(path: string): string {
    return resolve(this.parts.source.dir, path)
  }

  private policy(id: string): RetryPolicy {
    const found = this.resolved.policies.get(id)
    if (found !== undefined) return found.policy
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  }

  private put(given: Partial<RetryPolicy> & { id: string }, actor: Actor = {}): Promise<RetryPolicy> {
    return this.alone(async () => {
      const before = this.resolved.policies.get(given?.id)?.policy
      await this.relay(
        () => this.layers.change((layer) => putPolicy(this.loaded, layer, given), actor),
        actor,
      )
      const after = this.policy(given.id)
      await this.parts.kit.audit(actor, 'policy.put', given.id, {
        before: before && policyCodec.encode(before),
        after: policyCodec.encode(after),
      })
      return after
    })
  }

  private remove(id: string, actor: Actor = {}): Promise<void> {
    return this.alone(async () => {
      const before = this.resolved.policies.get(id)?.policy
      await this.relay(
        () => this.layers.change((layer) => deletePolicy(this.loaded, layer, id), actor),
        actor,
      )
      await this.parts.kit.audit(actor, 'policy.delete', id, { before: before && policyCodec.encode(before) })
    })
  }

  /** Changes the layer and puts the result in force. */
  private async relay(change: () => Promise<Layer>, actor: Actor): Promise<void> {
    const { kit, apply } = this.parts
    const { layer: before, resolved } = this
    this.layer = await change()
    try {
      this.resolved = this.resolve(this.loaded)
      refuseContradictions(this.resolved)
      apply()
    } catch (error) {
      // What is stored must be what can be in force.
      this.layer = await this.layers.change(() => before, {
        by: 'holdfast',
        reason: 'the change was refused',
      })
      this.resolved = resolved
      apply()
      throw error
    }
    kit.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: { by: actor.by ?? 'unknown', layer: 'api' },
    })
  }

  private async read(actor: Actor): Promise<Reloaded> {
    if (this.file === undefined) return { changes: 0, warnings: this.warnings, hidden: [] }
    const { env } = this.parts
    const { file } = this
    return this.take(async () => checkText(await textOf(file), { file, env }), actor)
  }

  /** Puts what was read of the file in force. */
  private async take(read: () => Promise<Checked>, actor: Actor): Promise<Reloaded> {
    const { kit, apply } = this.parts
    const { file, loaded: before, resolved, listed: wasListed } = this
    try {
      const checked = sound(await read(), file)
      const listed = await this.memberFiles.read(checked.config)
      await this.loadHandlers(checked.config)
      const next = this.resolve(checked)
      refuseContradictions(next)
      this.listed = listed
      this.loaded = checked
      this.resolved = next
      try {
        apply()
      } catch (error) {
        this.loaded = before
        this.resolved = resolved
        this.listed = wasListed
        apply()
        throw error
      }
    } catch (error) {
      await this.reject(actor, error)
      throw error
    }
    this.degraded = false
    if (this.following) this.memberFiles.follow(this.current)
    const changes = differences(resolved.policies, this.resolved.policies)
    const hidden = [
      ...hiddenByReload(before, this.resolved).map(hiddenNote),
      ...hiddenMembers(before.config, this.current, this.layer),
    ]
    const waiting = waitingForRestart(
      { ...this.parts, config: this.parts.source.checked.config },
      this.current,
    )
    this.loaded = { ...this.loaded, warnings: [...this.loaded.warnings, ...waiting] }
    const notes = [...hidden, ...waiting.map((warning) => lineOf(warning, undefined))]
    for (const note of notes) {
      kit.complain(note)
      kit.logger.warn({ config: file }, note)
    }
    kit.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: {
        file,
        by: actor.by ?? 'unknown',
        changes: changes.length,
        hidden,
        ...(waiting.length > 0 && { waiting: waiting.map(({ path }) => path) }),
      },
    })
    await kit.audit(actor, 'config.reload', file ?? 'object', {
      after: { changes: changes.map(toWireDifference) },
    })
    return { changes: changes.length, warnings: this.loaded.warnings, hidden }
  }

  /** Loads the module of handlers that a configuration names. @throws CONFIG_INVALID */
  private async loadHandlers({ deadLetters }: Config): Promise<void> {
    const file = deadLetters?.handlers
    if (file === undefined) return
    try {
      await import(pathToFileURL(this.path(file)).href)
    } catch (error) {
      throw configInvalid('the configuration', [
        { path: 'dead_letters.handlers', message: `cannot be loaded: ${messageOf(error)}` },
      ])
    }
  }

  /** Opens without the changes through the API that do not go with the file any more, and says so. */
  private leaveOutWhatContradicts(): void {
    const problems = contradictionsOf(this.resolved)
    if (problems.length === 0) return
    const { policies = {}, ...rest } = this.layer
    const wrong = new Set(problems.map(({ policyId }) => policyId))
    const left = Object.entries(policies).filter(([id]) => !wrong.has(id))
    this.layer = { ...rest, policies: Object.fromEntries(left) }
    this.resolved = this.resolve(this.loaded)
    this.degraded = true
    const { kit } = this.parts
    const reason = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
    kit.complain(`changes made through the API do not go with the file and are left out: ${reason}`)
    kit.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { layer: 'api', reason, policies: [...wrong] },
    })
  }

  private async reject(actor: Actor, error: unknown): Promise<void> {
    const { kit } = this.parts
    const reason = messageOf(error)
    const details = isHoldfastError(error) ? error.details : undefined
    kit.complain(`the configuration was not taken, what was in force stays so: ${reason}`)
    kit.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file: this.file, by: actor.by ?? 'unknown', reason, ...(details && { details }) },
    })
    await kit.audit(actor, 'config.reject', this.file ?? 'object', { after: { reason } })
  }

  private resolve(checked: SoundConfig): ResolvedConfig {
    return resolveConfig({ ...checked, file: this.parts.source.file }, this.layer)
  }

  /** One change at a time. */
  private alone<T>(change: () => Promise<T>): Promise<T> {
    const next = this.work.then(change)
    this.work = next.catch(() => {})
    return next
  }
}
