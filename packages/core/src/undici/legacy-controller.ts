import type { DispatchController } from './dispatch.js'

/** What an old dispatcher gives in two functions, as one controller. */
export class LegacyController implements DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown
  rawTrailers: unknown
  /** Has the answer go on. */
  resumeUpstream: (() => void) | undefined
  private readonly abortUpstream: (reason?: Error) => void

  constructor(end: (reason?: Error) => void) {
    this.abortUpstream = end
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.resumeUpstream?.()
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.abortUpstream(reason)
  }
}
