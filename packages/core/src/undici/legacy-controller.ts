import type { DispatchController } from './dispatch.js'

/** Adapts the abort and resume functions of a dispatcher before undici 7 to a controller. */
export class LegacyController implements DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown
  rawTrailers: unknown
  /** Resumes the response. */
  resumeUpstream: (() => void) | undefined
  private readonly abortUpstream: (reason?: Error) => void

  constructor(abortUpstream: (reason?: Error) => void) {
    this.abortUpstream = abortUpstream
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
