import type { Actor, Kit } from '../kit.js'
import type { AuditAction } from '../records/errors.js'
import { messageOf } from '../records/summary.js'

/** Writes down who asked for what. What was done must not fail because nobody could write it down. */
export class Trail {
  private readonly kit: Kit

  constructor(kit: Kit) {
    this.kit = kit
  }

  async note(
    actor: Actor | undefined,
    action: AuditAction,
    target: string,
    change: { before?: unknown; after?: unknown },
  ): Promise<void> {
    try {
      await this.kit.audit(actor, action, target, change)
    } catch (error) {
      this.kit.complain(`${action} of ${target} is not in the audit: ${this.kit.redact(messageOf(error))}`)
    }
  }
}
