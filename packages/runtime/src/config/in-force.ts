import { HoldfastError } from 'holdfast'
import type { Kit } from '../kit.js'
import type { Listed } from '../pools/member-files.js'
import { frozen } from '../records/own.js'
import type { RetryPolicy } from '../records/policy.js'
import { type Contradiction, contradictionsOf, refuseContradictions } from './layer/contradictions.js'
import { type Difference, differences } from './layer/hidden.js'
import type { Layer } from './layer/layer.js'
import { type ResolvedConfig, resolveConfig } from './resolved.js'
import type { SoundConfig, Source } from './source.js'

/** What decides over calls: what was loaded, the changes on top of it, and the members that files of their own list. */
export interface Deciding {
  readonly loaded: SoundConfig
  /** The changes made through the API as they are stored, wire spelling. */
  readonly stored: Layer
  readonly listed: Listed
}

/** The configuration in force. Another one is put in its place as a whole, or not at all. */
export class InForce {
  private readonly kit: Kit
  private readonly file: string | undefined
  private readonly apply: () => void
  private deciding: Deciding
  /** The same with every policy filled in. */
  resolved: ResolvedConfig
  /** What does not go with the file of changes through the API: what was changed of those policies is left out. */
  private leftOut: readonly Contradiction[] = []
  /** Whether the ready policies stand in for a file that could not be loaded. */
  standsIn: boolean
  /** Whether anything was put in force: what it begins with is no change. */
  private settled = false
  /** When policies became what they are, as far as that is known. */
  private readonly since = new Map<string, Date>()
  private readonly begun: Date

  /** `apply` hands it to those who go by it, and throws where they cannot. */
  constructor(kit: Kit, { checked, file, failed }: Source, apply: () => void) {
    this.kit = kit
    this.file = file
    this.apply = apply
    this.deciding = { loaded: checked, stored: {}, listed: new Map() }
    this.resolved = this.resolve(checked, {})
    this.standsIn = failed !== undefined
    this.begun = new Date(kit.clock.wall())
  }

  get loaded(): SoundConfig {
    return this.deciding.loaded
  }

  /** The changes made through the API as they are stored. */
  get stored(): Layer {
    return this.deciding.stored
  }

  /** Those of them that are in force. */
  get layer(): Layer {
    return this.resolved.layer
  }

  /** Whether it is not what the file and the changes say. */
  get degraded(): boolean {
    return this.standsIn || this.leftOut.length > 0
  }

  /** What changes through the API are left out, by policy: a sentence each. */
  get leftOutNotes(): ReadonlyMap<string, string> {
    const notes = new Map<string, string>()
    for (const { policyId, path, message } of this.leftOut) {
      const said = notes.get(policyId)
      const reason = `${path}: ${message}`
      const note = `policies.${policyId}: what was changed through the API does not go with the config and is left out: ${reason}`
      notes.set(policyId, said === undefined ? note : `${said}; ${reason}`)
    }
    return notes
  }

  /** Whether changes through the API could be in force. @throws CONFIG_INVALID where they do not go with the file, and did before */
  check(stored: Layer): void {
    const fresh = this.fresh(contradictionsOf(this.resolve(this.loaded, stored)))
    if (fresh.length > 0) refuseContradictions(fresh)
  }

  private fresh(wrong: readonly Contradiction[]): Contradiction[] {
    const known = new Set(this.leftOut.map(({ policyId }) => policyId))
    return wrong.filter(({ policyId }) => !known.has(policyId))
  }

  get listed(): Listed {
    return this.deciding.listed
  }

  /**
   * Puts something else in force, and tells what it changed. Where that cannot be it throws, and what was in force stays so.
   * `onContradiction` is told of changes through the API that do not go with the file, and did before; where it does not
   * throw, they are left out until they do.
   */
  put(next: Partial<Deciding>, onContradiction: (problems: readonly Contradiction[]) => void): Difference[] {
    const { deciding, resolved: before, leftOut } = this
    const decided = { ...deciding, ...next }
    const { loaded, stored } = decided
    const all = this.resolve(loaded, stored)
    const wrong = contradictionsOf(all)
    const fresh = this.fresh(wrong)
    if (fresh.length > 0) onContradiction(fresh)
    this.leftOut = wrong
    this.deciding = decided
    this.resolved = wrong.length === 0 ? all : this.resolve(loaded, without(stored, wrong))
    try {
      this.apply()
    } catch (error) {
      this.deciding = deciding
      this.resolved = before
      this.leftOut = leftOut
      this.apply()
      throw error
    }
    const changes = differences(before.policies, this.resolved.policies)
    if (this.settled) for (const { policyId } of changes) this.touched(policyId)
    this.settled = true
    return changes
  }

  /** Adds what is worth knowing about it. */
  warn(warnings: SoundConfig['warnings']): void {
    const { loaded } = this
    this.deciding = { ...this.deciding, loaded: { ...loaded, warnings: [...loaded.warnings, ...warnings] } }
  }

  /** @throws POLICY_NOT_FOUND */
  policy(id: string): RetryPolicy {
    const found = this.resolved.policies.get(id)
    if (found !== undefined) return found.policy
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  }

  /** Notes that a policy was changed now. */
  touched(policyId: string): void {
    this.since.set(policyId, new Date(this.kit.clock.wall()))
  }

  /** When a policy became what it is; `stored` is asked where nothing has changed since this began. */
  async changedAt(policyId: string, stored: () => Promise<Date | undefined>): Promise<Date> {
    const known = this.since.get(policyId) ?? (await stored()) ?? this.begun
    this.since.set(policyId, known)
    return known
  }

  private resolve(loaded: SoundConfig, layer: Layer): ResolvedConfig {
    return resolveConfig({ ...loaded, file: this.file }, frozen(layer))
  }
}

function without({ policies = {}, ...rest }: Layer, wrong: readonly Contradiction[]): Layer {
  const ids = new Set(wrong.map(({ policyId }) => policyId))
  return { ...rest, policies: Object.fromEntries(Object.entries(policies).filter(([id]) => !ids.has(id))) }
}
