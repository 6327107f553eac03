import type { RuntimeContext } from '@holdfast/config'
import type { FleetBreaker } from './fleet-breaker.js'
import type { RedisConnection } from './redis-connection.js'
import type { SettingsMessage } from './replies.js'
import { differingFields } from './shared-settings.js'

export interface SettingsMismatchParts {
  readonly redis: RedisConnection
  /** Id of this node. */
  readonly node: string
  breakers(): Iterable<FleetBreaker>
  /** Selects the live nodes. @throws if Redis is not available */
  filterLive(nodes: readonly string[]): Promise<ReadonlySet<string>>
  /** The last node with other settings has left: the breaker must be synchronized with the fleet. */
  onResolved(breakerLink: FleetBreaker): void
}

/**
 * Finds live nodes that have other settings for a breaker than this node. Such nodes decide alone. Every one of them is
 * remembered, not only the last, so that the breaker stays alone until all of them have left or changed their settings.
 */
export class SettingsMismatch {
  private readonly runtime: RuntimeContext
  private readonly parts: SettingsMismatchParts

  constructor(runtime: RuntimeContext, parts: SettingsMismatchParts) {
    this.runtime = runtime
    this.parts = parts
  }

  /** A message says that a node has these settings. It is ignored if the node is not alive, because it may be forged. */
  async onSettings(breakerLink: FleetBreaker, { settings, node, answer }: SettingsMessage): Promise<void> {
    if (breakerLink.settings === settings) {
      this.removeNode(breakerLink, node)
      return
    }
    if (!(await this.isLive(node)) || breakerLink.settings === settings) return
    const { redis, node: own } = this.parts
    // A node that receives many answers warns about the first one only.
    this.addNode(breakerLink, settings, node, answer === true && breakerLink.mismatchedNodes.size > 0)
    if (answer) return
    const text = JSON.stringify({
      settings: breakerLink.settings,
      of: breakerLink.breaker.id,
      node: own,
      answer: true,
    })
    void redis.send('PUBLISH', redis.channel, text).catch(() => {})
  }

  /** Redis has stored settings of a node, which may have left since. */
  async onStoredSettings(breakerLink: FleetBreaker, settings: string, node: string): Promise<void> {
    if (breakerLink.settings === settings) breakerLink.mismatchedNodes.delete(node)
    else if (await this.isLive(node)) this.addNode(breakerLink, settings, node, false)
  }

  onNodeLeft(node: string): void {
    for (const breakerLink of this.parts.breakers()) this.removeNode(breakerLink, node)
  }

  /** Removes nodes that have left without a message, or whose message was lost. */
  async removeDepartedNodes(): Promise<void> {
    const { redis, breakers: breakerLinks, filterLive } = this.parts
    const all = new Set([...breakerLinks()].flatMap(({ mismatchedNodes }) => [...mismatchedNodes]))
    if (all.size === 0 || !redis.isUp) return
    try {
      const live = await filterLive([...all])
      for (const node of all) if (!live.has(node)) this.onNodeLeft(node)
    } catch {
      // Redis is not available, which the connection reports.
    }
  }

  private async isLive(node: string): Promise<boolean> {
    try {
      return (await this.parts.filterLive([node])).has(node)
    } catch {
      return true // removeDepartedNodes checks it again
    }
  }

  private removeNode(breakerLink: FleetBreaker, node: string): void {
    if (breakerLink.mismatchedNodes.delete(node) && breakerLink.mismatchedNodes.size === 0)
      this.parts.onResolved(breakerLink)
  }

  /** Remembers a node with other settings. Both nodes decide alone from now on. */
  private addNode(breakerLink: FleetBreaker, theirs: string, node: string, isSilent: boolean): void {
    if (breakerLink.mismatchedNodes.has(node)) return
    breakerLink.mismatchedNodes.add(node)
    if (isSilent) return
    const { id } = breakerLink.breaker
    const fields = differingFields(breakerLink.settings, theirs)
    this.runtime.warn(`nodes have different settings for ${id} and decide alone: ${fields.join(', ')}`)
    this.runtime.emit({
      eventType: 'alert',
      component: 'circuit_breaker',
      context: { id, reason: 'settings differ', fields, nodes: [this.parts.node, node] },
    })
  }
}
