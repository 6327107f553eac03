import { freezeCopy, type RetryPolicy } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import type { FileMembers } from '../file/member-files.js'
import type { ConfigSource, ValidConfig } from '../file/source.js'
import { describeProblem, lineOf } from '../problems/describe.js'
import { type ResolvedConfig, resolveConfig } from '../resolve/resolve-config.js'
import { resolvePolicy } from '../resolve/resolve-policy.js'
import { policyIds } from '../rules/references.js'
import type { RuntimeContext } from '../runtime-context.js'
import type { Layer } from '../schema/layer.js'
import { findPolicyConflicts, type PolicyConflict, throwPolicyConflicts } from './conflicts.js'
import { type Difference, diffPolicies } from './hidden.js'

/**
 * The inputs of the active configuration: the loaded config, the changes made through the API, and the members of member
 * files.
 */
export interface ConfigInputs {
  readonly loaded: ValidConfig
  /** The stored changes made through the API, with the keys of the wire format. */
  readonly stored: Layer
  readonly fileMembers: FileMembers
}

/** The active configuration. It is replaced completely or not at all. */
export class ActiveConfig {
  private readonly runtime: RuntimeContext
  private readonly file: string | undefined
  private readonly apply: () => void
  private inputs: ConfigInputs
  /** The configuration with resolved policies. */
  resolved: ResolvedConfig
  /** The conflicts between the file and changes made through the API. The changes of these policies are ignored. */
  private ignoredLiveChanges: readonly PolicyConflict[] = []
  /** Whether the built-in policies replace a file that could not be loaded. */
  usesBuiltInPolicies: boolean
  /** Whether a configuration was applied before. The first one is not a change. */
  private isApplied = false
  /** When policies were last changed, as far as that is known. */
  private readonly changedAtByPolicy = new Map<string, Date>()
  private readonly startedAt: Date

  /** `apply` passes the configuration to the parts that use it, and throws if they cannot use it. */
  constructor(runtime: RuntimeContext, { checked, file, loadError }: ConfigSource, apply: () => void) {
    this.runtime = runtime
    this.file = file
    this.apply = apply
    this.inputs = { loaded: checked, stored: {}, fileMembers: new Map() }
    this.resolved = this.resolve(checked, {})
    this.usesBuiltInPolicies = loadError !== undefined
    this.startedAt = new Date(runtime.clock.wall())
  }

  /** The loaded config, without the changes made through the API. */
  get loaded(): ValidConfig {
    return this.inputs.loaded
  }

  /** The stored changes made through the API. */
  get stored(): Layer {
    return this.inputs.stored
  }

  /** The changes that apply. */
  get layer(): Layer {
    return this.resolved.layer
  }

  /** Whether it differs from the file and the changes. */
  get degraded(): boolean {
    return this.usesBuiltInPolicies || this.ignoredLiveChanges.length > 0
  }

  /** The policy of the config or the built-in policy, without live changes; undefined if there is none. */
  filePolicy(id: string): RetryPolicy | undefined {
    return policyIds(this.loaded.config).has(id) ? resolvePolicy(this.loaded, id).policy : undefined
  }

  /** A note for each policy whose changes through the API are ignored. */
  get ignoredOverrideNotes(): ReadonlyMap<string, string> {
    const notes = new Map<string, string>()
    for (const conflict of this.ignoredLiveChanges) {
      const { policyId } = conflict
      const previousNote = notes.get(policyId)
      const reason = lineOf(describeProblem(conflict), undefined)
      const note = `policies.${policyId}: the changes made through the API conflict with the config and are ignored: ${reason}`
      notes.set(policyId, previousNote === undefined ? note : `${previousNote}; ${reason}`)
    }
    return notes
  }

  /**
   * Checks whether changes could be applied. @throws CONFIG_INVALID if they conflict with the file and did not before
   */
  checkLayer(stored: Layer): void {
    const fresh = this.newConflicts(findPolicyConflicts(this.resolve(this.loaded, stored)))
    if (fresh.length > 0) throwPolicyConflicts(fresh)
  }

  private newConflicts(conflicts: readonly PolicyConflict[]): PolicyConflict[] {
    const known = new Set(this.ignoredLiveChanges.map(({ policyId }) => policyId))
    return conflicts.filter(({ policyId }) => !known.has(policyId))
  }

  /** The members that member files define, by pool. */
  get fileMembers(): FileMembers {
    return this.inputs.fileMembers
  }

  /**
   * Replaces the configuration and returns the differences. If that fails it throws, and the previous configuration
   * stays active. `onContradiction` receives changes through the API that newly conflict with the file; if it does not
   * throw, they are ignored until the conflict is resolved.
   */
  replace(
    next: Partial<ConfigInputs>,
    onContradiction: (problems: readonly PolicyConflict[]) => void,
  ): Difference[] {
    const { inputs, resolved: before, ignoredLiveChanges } = this
    const nextInputs = { ...inputs, ...next }
    const { loaded, stored } = nextInputs
    const all = this.resolve(loaded, stored)
    const conflicts = findPolicyConflicts(all)
    const newConflicts = this.newConflicts(conflicts)
    if (newConflicts.length > 0) onContradiction(newConflicts)
    this.ignoredLiveChanges = conflicts
    this.inputs = nextInputs
    this.resolved = conflicts.length === 0 ? all : this.resolve(loaded, withoutPolicies(stored, conflicts))
    try {
      this.apply()
    } catch (error) {
      this.inputs = inputs
      this.resolved = before
      this.ignoredLiveChanges = ignoredLiveChanges
      this.apply()
      throw error
    }
    const changes = diffPolicies(before.policies, this.resolved.policies)
    if (this.isApplied) for (const { policyId } of changes) this.markChanged(policyId)
    this.isApplied = true
    return changes
  }

  /** Adds warnings. */
  addWarnings(warnings: ValidConfig['warnings']): void {
    const { loaded } = this
    this.inputs = { ...this.inputs, loaded: { ...loaded, warnings: [...loaded.warnings, ...warnings] } }
  }

  /** Returns a policy with all layers applied. @throws POLICY_NOT_FOUND */
  policy(id: string): RetryPolicy {
    const found = this.resolved.policies.get(id)
    if (found !== undefined) return found.policy
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  }

  /** Records that a policy was changed now. */
  markChanged(policyId: string): void {
    this.changedAtByPolicy.set(policyId, new Date(this.runtime.clock.wall()))
  }

  /** When a policy was last changed; `stored` is called if it has not changed since the process started. */
  async changedAt(policyId: string, stored: () => Promise<Date | undefined>): Promise<Date> {
    const known = this.changedAtByPolicy.get(policyId) ?? (await stored()) ?? this.startedAt
    this.changedAtByPolicy.set(policyId, known)
    return known
  }

  private resolve(loaded: ValidConfig, layer: Layer): ResolvedConfig {
    return resolveConfig({ ...loaded, file: this.file }, freezeCopy(layer))
  }
}

function withoutPolicies({ policies = {}, ...rest }: Layer, conflicts: readonly PolicyConflict[]): Layer {
  const ids = new Set(conflicts.map(({ policyId }) => policyId))
  return { ...rest, policies: Object.fromEntries(Object.entries(policies).filter(([id]) => !ids.has(id))) }
}
