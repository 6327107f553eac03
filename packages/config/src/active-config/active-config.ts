import { freezeCopy, type RetryPolicy } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import type { FileMembers } from '../file/member-files.js'
import type { ConfigSource, ValidConfig } from '../file/source.js'
import { type ResolvedConfig, resolveConfig } from '../resolve/resolve-config.js'
import type { RuntimeContext } from '../runtime-context.js'
import type { Layer } from '../schema/layer.js'
import { findPolicyConflicts, type PolicyConflict, throwPolicyConflicts } from './conflicts.js'
import { type Difference, diffPolicies } from './hidden.js'

/** What decides over calls: what was loaded, the changes on top of it, and the members that files of their own list. */
export interface ConfigInputs {
  readonly loaded: ValidConfig
  /** The changes made through the API as they are stored, wire spelling. */
  readonly stored: Layer
  readonly fileMembers: FileMembers
}

/** The configuration in force. Another one is put in its place as a whole, or not at all. */
export class ActiveConfig {
  private readonly runtime: RuntimeContext
  private readonly file: string | undefined
  private readonly apply: () => void
  private inputs: ConfigInputs
  /** The same with every policy filled in. */
  resolved: ResolvedConfig
  /** What does not go with the file of changes through the API: what was changed of those policies is left out. */
  private ignoredOverrides: readonly PolicyConflict[] = []
  /** Whether the ready policies stand in for a file that could not be loaded. */
  usesBuiltInPolicies: boolean
  /** Whether anything was put in force: what it begins with is no change. */
  private isApplied = false
  /** When policies became what they are, as far as that is known. */
  private readonly changedAtByPolicy = new Map<string, Date>()
  private readonly startedAt: Date

  /** `apply` hands it to those who go by it, and throws where they cannot. */
  constructor(runtime: RuntimeContext, { checked, file, loadError }: ConfigSource, apply: () => void) {
    this.runtime = runtime
    this.file = file
    this.apply = apply
    this.inputs = { loaded: checked, stored: {}, fileMembers: new Map() }
    this.resolved = this.resolve(checked, {})
    this.usesBuiltInPolicies = loadError !== undefined
    this.startedAt = new Date(runtime.clock.wall())
  }

  get loaded(): ValidConfig {
    return this.inputs.loaded
  }

  /** The changes made through the API as they are stored. */
  get stored(): Layer {
    return this.inputs.stored
  }

  /** Those of them that are in force. */
  get layer(): Layer {
    return this.resolved.layer
  }

  /** Whether it is not what the file and the changes say. */
  get degraded(): boolean {
    return this.usesBuiltInPolicies || this.ignoredOverrides.length > 0
  }

  /** What changes through the API are left out, by policy: a sentence each. */
  get ignoredOverrideNotes(): ReadonlyMap<string, string> {
    const notes = new Map<string, string>()
    for (const { policyId, path, message } of this.ignoredOverrides) {
      const previousNote = notes.get(policyId)
      const reason = `${path}: ${message}`
      const note = `policies.${policyId}: what was changed through the API does not go with the config and is left out: ${reason}`
      notes.set(policyId, previousNote === undefined ? note : `${previousNote}; ${reason}`)
    }
    return notes
  }

  /** Whether changes through the API could be in force. @throws CONFIG_INVALID where they do not go with the file, and did before */
  checkLayer(stored: Layer): void {
    const fresh = this.newConflicts(findPolicyConflicts(this.resolve(this.loaded, stored)))
    if (fresh.length > 0) throwPolicyConflicts(fresh)
  }

  private newConflicts(conflicts: readonly PolicyConflict[]): PolicyConflict[] {
    const known = new Set(this.ignoredOverrides.map(({ policyId }) => policyId))
    return conflicts.filter(({ policyId }) => !known.has(policyId))
  }

  get fileMembers(): FileMembers {
    return this.inputs.fileMembers
  }

  /**
   * Puts something else in force, and tells what it changed. Where that cannot be it throws, and what was in force stays so.
   * `onContradiction` is told of changes through the API that do not go with the file, and did before; where it does not
   * throw, they are left out until they do.
   */
  replace(
    next: Partial<ConfigInputs>,
    onContradiction: (problems: readonly PolicyConflict[]) => void,
  ): Difference[] {
    const { inputs, resolved: before, ignoredOverrides } = this
    const nextInputs = { ...inputs, ...next }
    const { loaded, stored } = nextInputs
    const all = this.resolve(loaded, stored)
    const conflicts = findPolicyConflicts(all)
    const newConflicts = this.newConflicts(conflicts)
    if (newConflicts.length > 0) onContradiction(newConflicts)
    this.ignoredOverrides = conflicts
    this.inputs = nextInputs
    this.resolved = conflicts.length === 0 ? all : this.resolve(loaded, withoutPolicies(stored, conflicts))
    try {
      this.apply()
    } catch (error) {
      this.inputs = inputs
      this.resolved = before
      this.ignoredOverrides = ignoredOverrides
      this.apply()
      throw error
    }
    const changes = diffPolicies(before.policies, this.resolved.policies)
    if (this.isApplied) for (const { policyId } of changes) this.markChanged(policyId)
    this.isApplied = true
    return changes
  }

  /** Adds what is worth knowing about it. */
  addWarnings(warnings: ValidConfig['warnings']): void {
    const { loaded } = this
    this.inputs = { ...this.inputs, loaded: { ...loaded, warnings: [...loaded.warnings, ...warnings] } }
  }

  /** @throws POLICY_NOT_FOUND */
  policy(id: string): RetryPolicy {
    const found = this.resolved.policies.get(id)
    if (found !== undefined) return found.policy
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  }

  /** Notes that a policy was changed now. */
  markChanged(policyId: string): void {
    this.changedAtByPolicy.set(policyId, new Date(this.runtime.clock.wall()))
  }

  /** When a policy became what it is; `stored` is asked where nothing has changed since this began. */
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
