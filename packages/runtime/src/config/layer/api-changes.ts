import { isHoldfastError } from 'holdfast'
import type { Keys } from '../../dead-letters/seal.js'
import type { Actor, Kit } from '../../kit.js'
import { type PolicyFields, policyCodec, type RetryPolicy } from '../../records/policy.js'
import { messageOf } from '../../records/summary.js'
import type { InForce } from '../in-force.js'
import { deletePolicy, putPolicy } from './changes.js'
import { refuseContradictions } from './contradictions.js'
import { LayerHistory } from './history.js'
import type { Layer } from './layer.js'

/** Changes made through the API: each is stored, in force at once, told of and audited, and can be taken back. */
export class ApiChanges {
  private readonly kit: Kit
  private readonly inForce: InForce
  private readonly layers: LayerHistory

  constructor(kit: Kit, inForce: InForce, keys: () => Keys) {
    this.kit = kit
    this.inForce = inForce
    this.layers = new LayerHistory(kit, keys)
  }

  /** Encrypts the credentials of members with the newest key. */
  rotateKeys() {
    return this.layers.rotate()
  }

  /** The versions, newest first. */
  history() {
    return this.layers.history()
  }

  /** When they last said something else of a policy. */
  changedAt(policyId: string): Promise<Date | undefined> {
    return this.layers.changedAt(policyId)
  }

  async put(given: PolicyFields & { id: string }, actor: Actor): Promise<RetryPolicy> {
    const { inForce, kit } = this
    const before = inForce.resolved.policies.get(given?.id)?.policy
    await this.change((layer) => putPolicy(inForce.loaded, layer, given), actor)
    const after = inForce.policy(given.id)
    inForce.touched(given.id)
    await kit.audit(actor, 'policy.put', given.id, {
      before: before && policyCodec.encode(before),
      after: policyCodec.encode(after),
    })
    return after
  }

  async remove(id: string, actor: Actor): Promise<void> {
    const { inForce, kit } = this
    const before = inForce.resolved.policies.get(id)?.policy
    await this.change((layer) => deletePolicy(inForce.loaded, layer, id), actor)
    await kit.audit(actor, 'policy.delete', id, { before: before && policyCodec.encode(before) })
  }

  async rollback(version: number, actor: Actor): Promise<void> {
    const { inForce, kit } = this
    const { layer: before } = inForce
    const target = `version ${version}`
    try {
      await this.take(() => this.layers.rollback(version, actor, (layer) => inForce.check(layer)), actor)
    } catch (error) {
      if (isHoldfastError(error) && error.code === 'CONFIG_INVALID') await this.reject(actor, target, error)
      throw error
    }
    await kit.audit(actor, 'config.rollback', target, { before, after: inForce.layer })
  }

  async clear(actor: Actor): Promise<void> {
    const { layer: before } = this.inForce
    await this.take(() => this.layers.clear(actor), actor)
    await this.kit.audit(actor, 'config.clear', 'layer', { before })
  }

  /** `change` may be called again where somebody else was quicker. What it throws is thrown, and nothing is changed. */
  change(change: (layer: Layer) => Layer, actor: Actor): Promise<void> {
    const checked = (layer: Layer) => {
      const changed = change(layer)
      this.inForce.check(changed)
      return changed
    }
    return this.take(() => this.layers.change(checked, actor), actor)
  }

  /**
   * Takes over what is stored: at the start, or by another process. Those that do not go with the file are left out, and that
   * is told: a process must begin, and another's changes must be heard of, whatever they say.
   */
  async refresh(listed = this.inForce.listed): Promise<void> {
    const { kit, inForce } = this
    const stored = await this.layers.load()
    inForce.put({ stored, listed }, (problems) => {
      const reason = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
      kit.complain(`changes made through the API do not go with the file and are left out: ${reason}`)
      kit.emit({
        eventType: 'config_rejected',
        component: 'config',
        context: { layer: 'api', reason, policies: [...new Set(problems.map(({ policyId }) => policyId))] },
      })
    })
  }

  /** The same, where another process has stored anything. */
  async look(): Promise<void> {
    // A store that cannot be reached is told of by those who must write to it, and not every second.
    const news = await this.layers.news().catch(() => undefined)
    if (news === undefined) return
    await this.refresh()
    this.told({ by: news.by, version: news.version })
  }

  /** Puts what was stored just now in force. */
  private async take(change: () => Promise<Layer>, actor: Actor): Promise<void> {
    const { stored: before } = this.inForce
    const stored = await change()
    try {
      this.inForce.put({ stored }, refuseContradictions)
    } catch (error) {
      // What is stored must be what can be in force.
      await this.layers.change(() => before, { by: 'holdfast', reason: 'the change was refused' })
      throw error
    }
    this.told({ by: actor.by ?? 'unknown' })
  }

  private async reject(actor: Actor, target: string, error: unknown): Promise<void> {
    const { kit } = this
    const reason = messageOf(error)
    kit.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { layer: 'api', by: actor.by ?? 'unknown', reason },
    })
    await kit.audit(actor, 'config.reject', target, { after: { reason } })
  }

  private told(context: object): void {
    this.kit.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: { ...context, layer: 'api' },
    })
  }
}
