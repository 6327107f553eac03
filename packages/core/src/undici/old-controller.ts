import type { DispatchController } from './dispatch.js'

/** What an old dispatcher gives in two functions, as one controller. */
export class OldController implements DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: unknown
  rawTrailers: unknown
  /** Has the answer go on. */
  goOn: (() => void) | undefined
  private readonly end: (reason?: Error) => void

  constructor(end: (reason?: Error) => void) {
    this.end = end
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.goOn?.()
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.end(reason)
  }
}
