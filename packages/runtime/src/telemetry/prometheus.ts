import { systemClock } from 'holdfast/internal'
import type { Holdfast } from '../holdfast/holdfast.js'
import { EventCounters } from './event-counters.js'
import { formatExposition } from './exposition.js'
import { readMetrics } from './read.js'
import type { MetricsSource } from './source.js'

const countersByRuntime = new WeakMap<MetricsSource, EventCounters>()

/**
 * The metrics of a runtime in the text format of Prometheus, for an HTTP server of your own: answer with the content type
 * `text/plain; version=0.0.4`. `holdfast serve` has them at `/metrics`. Config reloads, dropped events and the delay of the
 * event loop are counted from the first call on, everything else from the start of the runtime.
 *
 * @example
 * ```ts
 * import { Holdfast, prometheus } from '@holdfast/runtime'
 *
 * const hf = await Holdfast.open({ config: { policies: { quick: { maxAttempts: 2 } } } })
 * await hf.run('quick', () => 'saved') // => 'saved'
 * const text = await prometheus(hf)
 * text.includes('holdfast_calls_total{operation="quick",result="success",retried="false"} 1') // => true
 * await hf.close()
 * ```
 */
export async function prometheus(hf: MetricsSource): Promise<string> {
  const counters = countersByRuntime.get(hf) ?? createCounters(hf)
  return formatExposition(await readMetrics(hf, counters, systemClock))
}

/** Creates the counters of a runtime. They end when it is closed. */
function createCounters(hf: MetricsSource): EventCounters {
  const counters = new EventCounters(hf)
  countersByRuntime.set(hf, counters)
  ;(hf as MetricsSource & Partial<Pick<Holdfast, 'onClosed'>>).onClosed?.(() => {
    countersByRuntime.delete(hf)
    counters.close()
  })
  return counters
}
