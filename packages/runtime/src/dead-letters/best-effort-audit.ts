import type { Actor, RuntimeContext } from '@holdfast/config'
import { type AuditAction, errorMessageOf } from '@holdfast/records'

/** Writes down who asked for what. What was done must not fail because nobody could write it down. */
export class BestEffortAudit {
  private readonly runtime: RuntimeContext

  constructor(runtime: RuntimeContext) {
    this.runtime = runtime
  }

  async record(
    actor: Actor | undefined,
    action: AuditAction,
    target: string,
    change: { before?: unknown; after?: unknown },
  ): Promise<void> {
    try {
      await this.runtime.audit(actor, action, target, change)
    } catch (error) {
      this.runtime.warn(
        `${action} of ${target} is not in the audit: ${this.runtime.redact(errorMessageOf(error))}`,
      )
    }
  }
}
