import type { RetryAttempt, RetryEvent } from '@holdfast/runtime'
import type { HoldfastLike } from '../runtime-api.js'

/** Hears how a call ends, so that its attempts are told as its session has them. */
export class SessionListener {
  private readonly hf: HoldfastLike
  private readonly unsubscribers: readonly (() => void)[]
  private sessionId: string | undefined

  constructor(hf: HoldfastLike, correlationId: string) {
    this.hf = hf
    const hear = (event: RetryEvent): void => {
      if (event.correlationId === correlationId) this.sessionId = event.sessionId ?? undefined
    }
    this.unsubscribers = [hf.events.on('retry_success', hear), hf.events.on('retry_failure', hear)]
  }

  /** Hears nothing more: what others do under the same id later is not meant. */
  close(): void {
    for (const off of this.unsubscribers) off()
  }

  /** The attempts of the session; undefined where nothing failed, nothing is recorded, or the store cannot tell. */
  async attempts(): Promise<readonly RetryAttempt[] | undefined> {
    if (this.sessionId === undefined) return undefined
    try {
      return (await this.hf.sessions.get(this.sessionId))?.attempts
    } catch {
      // The answer is worth more than its attempts.
      return undefined
    }
  }
}
