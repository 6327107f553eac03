// oxlint-disable-next-line holdfast/clock -- the delay of the event loop of this process is what it measures
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { RetryEvent } from '@holdfast/records'
import type { MetricsSource } from './source.js'

/** How many policies have their own series; the others share `other`. */
export const MAX_POLICIES = 200

/** The sampling interval of the event loop delay, and the reported percentiles. */
const RESOLUTION_MS = 20
const PERCENTILES = [50, 90, 99, 100]

/** Counts events that the runtime has no counter for, and measures the delay of the event loop. */
export class EventCounters {
  readonly reloads = { taken: 0, rejected: 0 }
  readonly finalAttempts = new Map<string, number>()
  dropped = 0
  private readonly unsubscribe: readonly (() => void)[]
  private readonly eventLoopDelay: IntervalHistogram

  constructor(hf: Pick<MetricsSource, 'events'>) {
    this.unsubscribe = [
      hf.events.on('config_reloaded', () => void this.reloads.taken++),
      hf.events.on('config_rejected', () => void this.reloads.rejected++),
      hf.events.on('events_dropped', ({ context }) => {
        this.dropped += Number(context?.dropped ?? 0)
      }),
      hf.events.on('retry_failure', (event) => this.onRetryFailure(event)),
    ]
    this.eventLoopDelay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.eventLoopDelay.enable()
  }

  /** The delay of the event loop since the last call in seconds, by percentile. */
  eventLoopDelays(): readonly (readonly [percentile: string, seconds: number])[] {
    const { eventLoopDelay } = this
    // The histogram holds the time between two samples, which includes the sampling interval.
    const toSeconds = (nanoseconds: number): number =>
      eventLoopDelay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000)
    const delays = PERCENTILES.map(
      (percentile) => [String(percentile), toSeconds(eventLoopDelay.percentile(percentile))] as const,
    )
    eventLoopDelay.reset()
    return delays
  }

  close(): void {
    for (const off of this.unsubscribe) off()
    this.eventLoopDelay.disable()
  }

  private onRetryFailure({ policyId, context }: RetryEvent): void {
    if (context?.stopped !== 'budget_spent') return
    const id = policyId ?? 'unknown'
    const label = this.finalAttempts.has(id) || this.finalAttempts.size < MAX_POLICIES ? id : 'other'
    this.finalAttempts.set(label, (this.finalAttempts.get(label) ?? 0) + 1)
  }
}
