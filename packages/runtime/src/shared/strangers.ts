import type { Kit } from '../kit.js'
import type { SharedBreaker } from './link.js'
import type { SettingsNews } from './replies.js'
import { differingFields } from './settings.js'
import type { Wire } from './wire.js'

export interface StrangersParts {
  readonly wire: Wire
  /** What this node is called. */
  readonly node: string
  links(): Iterable<SharedBreaker>
  /** Those of the nodes that live. @throws where Redis is lost */
  living(nodes: readonly string[]): Promise<ReadonlySet<string>>
  /** The last node with other settings is gone: the breaker must find its way back to the fleet's. */
  reunited(link: SharedBreaker): void
}

/**
 * Nodes that have other settings for a breaker than this one, and live: those who differ decide alone. All who live are
 * known, and not only whoever spoke last, so that one that leaves does not make strangers of each other seem friends.
 */
export class Strangers {
  private readonly kit: Kit
  private readonly parts: StrangersParts

  constructor(kit: Kit, parts: StrangersParts) {
    this.kit = kit
    this.parts = parts
  }

  /** A node is said to have these settings. One that does not live says nothing: somebody else does in its name. */
  async heard(link: SharedBreaker, { settings, node, answer }: SettingsNews): Promise<void> {
    if (link.settings === settings) {
      this.forget(link, node)
      return
    }
    if (!(await this.lives(node)) || link.settings === settings) return
    const { wire, node: own } = this.parts
    // One that is answered by many is told of the first.
    this.add(link, settings, node, answer === true && link.strangers.size > 0)
    if (answer) return
    const text = JSON.stringify({ settings: link.settings, of: link.breaker.id, node: own, answer: true })
    void wire.send('PUBLISH', wire.channel, text).catch(() => {})
  }

  /** Redis knows the settings of a node, which may have left long ago. */
  async found(link: SharedBreaker, settings: string, node: string): Promise<void> {
    if (link.settings === settings) link.strangers.delete(node)
    else if (await this.lives(node)) this.add(link, settings, node, false)
  }

  /** A node has left. */
  left(node: string): void {
    for (const link of this.parts.links()) this.forget(link, node)
  }

  /** Forgets those who have left without a word, or whose word was not heard. */
  async check(): Promise<void> {
    const { wire, links, living } = this.parts
    const all = new Set([...links()].flatMap(({ strangers }) => [...strangers]))
    if (all.size === 0 || !wire.up) return
    try {
      const there = await living([...all])
      for (const node of all) if (!there.has(node)) this.left(node)
    } catch {
      // Redis is lost, which is told elsewhere.
    }
  }

  private async lives(node: string): Promise<boolean> {
    try {
      return (await this.parts.living([node])).has(node)
    } catch {
      return true // until it can be looked at again
    }
  }

  private forget(link: SharedBreaker, node: string): void {
    if (link.strangers.delete(node) && link.strangers.size === 0) this.parts.reunited(link)
  }

  /** Two nodes have different settings for a breaker: both decide alone. */
  private add(link: SharedBreaker, theirs: string, node: string, silent: boolean): void {
    if (link.strangers.has(node)) return
    link.strangers.add(node)
    if (silent) return
    const { id } = link.breaker
    const fields = differingFields(link.settings, theirs)
    this.kit.complain(`nodes have different settings for ${id} and decide alone: ${fields.join(', ')}`)
    this.kit.emit({
      eventType: 'alert',
      component: 'circuit_breaker',
      context: { id, reason: 'settings differ', fields, nodes: [this.parts.node, node] },
    })
  }
}
