import { getEventListeners } from 'node:events'

/** The share of runs whose caller aborts them, and the longest time until it does. */
const ABORTED_SHARE = 0.12
const MAX_ABORT_MS = 3000
/** The share of runs with a signal that all of them share and that is never aborted. */
const SHARED_SIGNAL_SHARE = 0.5

/** The signal of a run, and when its caller aborts it. */
export interface PlannedSignal {
  readonly controller: AbortController
  readonly abortAfterMs: number | undefined
}

/** The signals with which the callers of one process make their calls. */
export class CallerSignals {
  private readonly shared = new AbortController()

  /** The signal of a run, by a fraction that the scenario chose; undefined if it has none. */
  plan(target: number): PlannedSignal | undefined {
    if (target < ABORTED_SHARE)
      return { controller: new AbortController(), abortAfterMs: (target / ABORTED_SHARE) * MAX_ABORT_MS }
    if (target < ABORTED_SHARE + SHARED_SIGNAL_SHARE)
      return { controller: this.shared, abortAfterMs: undefined }
    return undefined
  }

  /** How many listeners the shared signal has. */
  get listenerCount(): number {
    return getEventListeners(this.shared.signal, 'abort').length
  }
}
