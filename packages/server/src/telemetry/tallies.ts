// oxlint-disable-next-line holdfast/clock -- how late the event loop of this very process is, is what it measures
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { RetryEvent } from '@holdfast/runtime'
import type { HoldfastLike } from '../hf.js'

/** How many policies have numbers of their own. */
export const POLICIES = 200

/** How often the event loop is looked at, in milliseconds, and what is told of it. */
const RESOLUTION = 20
const PERCENTILES = [50, 90, 99, 100]

/** What events say and no counter keeps, and how late the event loop is. */
export class Tallies {
  readonly reloads = { taken: 0, rejected: 0 }
  readonly spent = new Map<string, number>()
  dropped = 0
  private readonly off: readonly (() => void)[]
  private readonly loop: IntervalHistogram

  constructor(hf: Pick<HoldfastLike, 'events'>) {
    this.off = [
      hf.events.on('config_reloaded', () => void this.reloads.taken++),
      hf.events.on('config_rejected', () => void this.reloads.rejected++),
      hf.events.on('events_dropped', ({ context }) => {
        this.dropped += Number(context?.dropped ?? 0)
      }),
      hf.events.on('retry_failure', (event) => this.failed(event)),
    ]
    this.loop = monitorEventLoopDelay({ resolution: RESOLUTION })
    this.loop.enable()
  }

  /** How late the event loop was since this was last asked, in seconds, by percentile. */
  delays(): readonly (readonly [percentile: string, seconds: number])[] {
    const { loop } = this
    // What it measures is the time from one look to the next, which is never less than what lies between them.
    const late = (nanoseconds: number): number =>
      loop.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1000)
    const read = PERCENTILES.map(
      (percentile) => [String(percentile), late(loop.percentile(percentile))] as const,
    )
    loop.reset()
    return read
  }

  close(): void {
    for (const off of this.off) off()
    this.loop.disable()
  }

  private failed({ policyId, context }: RetryEvent): void {
    if (context?.stopped !== 'budget_spent') return
    const id = policyId ?? 'unknown'
    const label = this.spent.has(id) || this.spent.size < POLICIES ? id : 'other'
    this.spent.set(label, (this.spent.get(label) ?? 0) + 1)
  }
}
