import type { Actor, RuntimeContext } from '@holdfast/config'
import { type AuditAction, errorMessageOf } from '@holdfast/records'

/** Writes audit records of replays and purges. An action must not fail because its audit record could not be written. */
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
        `${action} of ${target} could not be written to the audit log: ${this.runtime.redact(errorMessageOf(error))}`,
      )
    }
  }
}
