import { errorMessageOf, policyCodec, type RetryPolicy } from '@holdfast/records'
import type { KeyRing } from '@holdfast/store'
import { isHoldfastError } from 'holdfast'
import type { ActiveConfig } from '../active-config/active-config.js'
import { throwPolicyConflicts } from '../active-config/conflicts.js'
import type { FileMembers } from '../file/member-files.js'
import { describeProblem, lineOf } from '../problems/describe.js'
import type { Actor, RuntimeContext } from '../runtime-context.js'
import type { Layer } from '../schema/layer.js'
import type { KeyStyle } from '../schema/walk.js'
import { deletePolicy, putPolicy } from './changes.js'
import type { LayerDifference } from './diff.js'
import { LayerHistory } from './history.js'

/**
 * Changes made through the API. Each is stored, applied at once, reported by an event and audited, and can be rolled back.
 */
export class ApiChanges {
  private readonly runtime: RuntimeContext
  private readonly activeConfig: ActiveConfig
  private readonly layerHistory: LayerHistory

  constructor(runtime: RuntimeContext, activeConfig: ActiveConfig, keys: () => KeyRing) {
    this.runtime = runtime
    this.activeConfig = activeConfig
    this.layerHistory = new LayerHistory(runtime, keys)
  }

  /** Encrypts the credentials of members with the newest key. */
  rotateKeys() {
    return this.layerHistory.rotate()
  }

  /** All versions, newest first. */
  history() {
    return this.layerHistory.history()
  }

  /** The differences from one version to another; from the newest version by default. */
  diff(to: number, from?: number): Promise<LayerDifference[]> {
    return this.layerHistory.diff(to, from)
  }

  /** When the changes last affected a policy. */
  changedAt(policyId: string): Promise<Date | undefined> {
    return this.layerHistory.changedAt(policyId)
  }

  /** Creates or replaces a policy, which has the field names and units of `spelling`. */
  async putPolicy(
    policy: { readonly id: string },
    actor: Actor,
    spelling: KeyStyle = 'code',
  ): Promise<RetryPolicy> {
    const { activeConfig, runtime } = this
    const before = activeConfig.resolved.policies.get(policy?.id)?.policy
    await this.change((layer) => putPolicy(activeConfig.loaded, layer, policy, spelling), actor)
    const after = activeConfig.policy(policy.id)
    activeConfig.markChanged(policy.id)
    await runtime.audit(actor, 'policy.put', policy.id, {
      before: before && policyCodec.encode(before),
      after: policyCodec.encode(after),
    })
    return after
  }

  /** Deletes a policy. */
  async deletePolicy(id: string, actor: Actor): Promise<void> {
    const { activeConfig, runtime } = this
    const before = activeConfig.resolved.policies.get(id)?.policy
    await this.change((layer) => deletePolicy(activeConfig.loaded, layer, id), actor)
    await runtime.audit(actor, 'policy.delete', id, { before: before && policyCodec.encode(before) })
  }

  /** Makes an earlier version the newest one. 0 is the state without changes. */
  async rollback(version: number, actor: Actor): Promise<void> {
    const { activeConfig, runtime } = this
    const { layer: before } = activeConfig
    const target = `version ${version}`
    try {
      await this.applyChange(
        () => this.layerHistory.rollback(version, actor, (layer) => activeConfig.checkLayer(layer)),
        actor,
      )
    } catch (error) {
      if (isHoldfastError(error) && error.code === 'CONFIG_INVALID')
        await this.recordRejection(actor, target, error)
      throw error
    }
    await runtime.audit(actor, 'config.rollback', target, { before, after: activeConfig.layer })
  }

  /** Deletes all changes made through the API. */
  async clear(actor: Actor): Promise<void> {
    const { layer: before } = this.activeConfig
    await this.applyChange(() => this.layerHistory.clear(actor), actor)
    await this.runtime.audit(actor, 'config.clear', 'layer', { before })
  }

  /** Changes the layer. `change` runs again after a concurrent change; its error is thrown, and nothing changes. */
  change(change: (layer: Layer) => Layer, actor: Actor): Promise<void> {
    const checked = (layer: Layer) => {
      const changed = change(layer)
      this.activeConfig.checkLayer(changed)
      return changed
    }
    return this.applyChange(() => this.layerHistory.change(checked, actor), actor)
  }

  /**
   * Loads and applies the stored changes, at the start or after another process changed them. Changes that conflict with
   * the file are ignored and reported, because a process must start and see the changes of other processes in any case.
   * Members of files are replaced only by given ones, because a members file can change while the store is read.
   */
  async refresh(fileMembers?: FileMembers): Promise<void> {
    const { runtime, activeConfig } = this
    const stored = await this.layerHistory.load()
    activeConfig.replace({ stored, ...(fileMembers !== undefined && { fileMembers }) }, (problems) => {
      const reason = problems.map((problem) => lineOf(describeProblem(problem), undefined)).join('; ')
      runtime.warn(`changes made through the API conflict with the file and are ignored: ${reason}`)
      runtime.emit({
        eventType: 'config_rejected',
        component: 'config',
        context: { layer: 'api', reason, policies: [...new Set(problems.map(({ policyId }) => policyId))] },
      })
    })
  }

  /** The same, if another process has stored a change. */
  async refreshIfChanged(): Promise<void> {
    // An unavailable store is reported when something must be written to it, and not every second here.
    const newVersion = await this.layerHistory.newVersion().catch(() => undefined)
    if (newVersion === undefined) return
    await this.refresh()
    this.emitChanged({ by: newVersion.by, version: newVersion.version })
  }

  /** Stores a change and applies it. */
  private async applyChange(change: () => Promise<Layer>, actor: Actor): Promise<void> {
    const { stored: before } = this.activeConfig
    const stored = await change()
    try {
      this.activeConfig.replace({ stored }, throwPolicyConflicts)
    } catch (error) {
      // A change that cannot be applied must not stay stored.
      await this.layerHistory.change(() => before, { by: 'holdfast', reason: 'the change was rejected' })
      throw error
    }
    this.emitChanged({ by: actor.by ?? 'unknown' })
  }

  private async recordRejection(actor: Actor, target: string, error: unknown): Promise<void> {
    const { runtime } = this
    const reason = errorMessageOf(error)
    runtime.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { layer: 'api', by: actor.by ?? 'unknown', reason },
    })
    await runtime.audit(actor, 'config.reject', target, { after: { reason } })
  }

  private emitChanged(context: object): void {
    this.runtime.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: { ...context, layer: 'api' },
    })
  }
}
