import type { RetryAttempt, RetryEvent } from '@holdfast/runtime'
import type { HoldfastLike } from '../runtime-api.js'

/** Finds the session of a call by its correlation id, so that its attempts can be reported as they were recorded. */
export class SessionListener {
  private readonly hf: HoldfastLike
  private readonly active: Set<SessionListener>
  private readonly correlationId: string
  private readonly unsubscribers: readonly (() => void)[]
  /** Whether another active call has the same correlation id, which the client chooses. A session can then be that of either. */
  private isAmbiguous = false
  private sessionId: string | undefined

  /** @param active - the listeners of the calls in progress, to which this one is added until it is closed */
  constructor(hf: HoldfastLike, active: Set<SessionListener>, correlationId: string) {
    this.hf = hf
    this.active = active
    this.correlationId = correlationId
    for (const other of active)
      if (other.correlationId === correlationId) other.isAmbiguous = this.isAmbiguous = true
    active.add(this)
    const onCallEnd = (event: RetryEvent): void => {
      if (event.correlationId === correlationId) this.sessionId = event.sessionId ?? undefined
    }
    this.unsubscribers = [hf.events.on('retry_success', onCallEnd), hf.events.on('retry_failure', onCallEnd)]
  }

  /** Stops listening, because later calls can have the same correlation id. */
  close(): void {
    this.active.delete(this)
    for (const off of this.unsubscribers) off()
  }

  /**
   * The attempts of the session; undefined where no attempt failed, sessions are not recorded, the session is not known to be
   * that of this call, or the store cannot be read.
   */
  async attempts(): Promise<readonly RetryAttempt[] | undefined> {
    if (this.sessionId === undefined || this.isAmbiguous) return undefined
    try {
      return (await this.hf.sessions.get(this.sessionId))?.attempts
    } catch {
      // The response is sent even if its attempts cannot be read.
      return undefined
    }
  }
}
