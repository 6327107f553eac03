import type { RetryAttempt, RetryEvent } from '@holdfast/runtime'
import type { HoldfastLike } from '../runtime-api.js'

/** Finds the session of a call by its correlation id, so that its attempts can be reported as they were recorded. */
export class SessionListener {
  private readonly hf: HoldfastLike
  private readonly unsubscribers: readonly (() => void)[]
  private sessionId: string | undefined

  constructor(hf: HoldfastLike, correlationId: string) {
    this.hf = hf
    const onCallEnd = (event: RetryEvent): void => {
      if (event.correlationId === correlationId) this.sessionId = event.sessionId ?? undefined
    }
    this.unsubscribers = [hf.events.on('retry_success', onCallEnd), hf.events.on('retry_failure', onCallEnd)]
  }

  /** Stops listening, because later calls can have the same correlation id. */
  close(): void {
    for (const off of this.unsubscribers) off()
  }

  /** The attempts of the session; undefined where no attempt failed, sessions are not recorded, or the store cannot be read. */
  async attempts(): Promise<readonly RetryAttempt[] | undefined> {
    if (this.sessionId === undefined) return undefined
    try {
      return (await this.hf.sessions.get(this.sessionId))?.attempts
    } catch {
      // The response is sent even if its attempts cannot be read.
      return undefined
    }
  }
}
