import type { RuntimeContext } from '@holdfast/config'
import type { FleetBreaker } from './fleet-breaker.js'
import type { RedisConnection } from './redis-connection.js'
import type { SettingsMessage } from './replies.js'
import { differingFields } from './shared-settings.js'

export interface SettingsMismatchParts {
  readonly redis: RedisConnection
  /** What this node is called. */
  readonly node: string
  breakers(): Iterable<FleetBreaker>
  /** Those of the nodes that live. @throws where Redis is lost */
  filterLive(nodes: readonly string[]): Promise<ReadonlySet<string>>
  /** The last node with other settings is gone: the breaker must find its way back to the fleet's. */
  onResolved(breakerLink: FleetBreaker): void
}

/**
 * Nodes that have other settings for a breaker than this one, and live: those who differ decide alone. All who live are
 * known, and not only whoever spoke last, so that one that leaves does not make strangers of each other seem friends.
 */
export class SettingsMismatch {
  private readonly runtime: RuntimeContext
  private readonly parts: SettingsMismatchParts

  constructor(runtime: RuntimeContext, parts: SettingsMismatchParts) {
    this.runtime = runtime
    this.parts = parts
  }

  /** A node is said to have these settings. One that does not live says nothing: somebody else does in its name. */
  async onSettings(breakerLink: FleetBreaker, { settings, node, answer }: SettingsMessage): Promise<void> {
    if (breakerLink.settings === settings) {
      this.removeNode(breakerLink, node)
      return
    }
    if (!(await this.isLive(node)) || breakerLink.settings === settings) return
    const { redis, node: own } = this.parts
    // One that is answered by many is told of the first.
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

  /** Redis knows the settings of a node, which may have left long ago. */
  async onStoredSettings(breakerLink: FleetBreaker, settings: string, node: string): Promise<void> {
    if (breakerLink.settings === settings) breakerLink.mismatchedNodes.delete(node)
    else if (await this.isLive(node)) this.addNode(breakerLink, settings, node, false)
  }

  /** A node has left. */
  onNodeLeft(node: string): void {
    for (const breakerLink of this.parts.breakers()) this.removeNode(breakerLink, node)
  }

  /** Forgets those who have left without a word, or whose word was not heard. */
  async removeDepartedNodes(): Promise<void> {
    const { redis, breakers: breakerLinks, filterLive } = this.parts
    const all = new Set([...breakerLinks()].flatMap(({ mismatchedNodes: mismatches }) => [...mismatches]))
    if (all.size === 0 || !redis.isUp) return
    try {
      const there = await filterLive([...all])
      for (const node of all) if (!there.has(node)) this.onNodeLeft(node)
    } catch {
      // Redis is lost, which is told elsewhere.
    }
  }

  private async isLive(node: string): Promise<boolean> {
    try {
      return (await this.parts.filterLive([node])).has(node)
    } catch {
      return true // until it can be looked at again
    }
  }

  private removeNode(breakerLink: FleetBreaker, node: string): void {
    if (breakerLink.mismatchedNodes.delete(node) && breakerLink.mismatchedNodes.size === 0)
      this.parts.onResolved(breakerLink)
  }

  /** Two nodes have different settings for a breaker: both decide alone. */
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
