import type { Holdfast } from '@holdfast/runtime'
import { connectOpenTelemetry } from './otel.js'

/**
 * Tells OpenTelemetry of a runtime: a span for every call, an event for each attempt, the metrics of `/metrics`. The trace's
 * id is the correlation id of calls that have none. Where `@opentelemetry/api` is not installed nothing happens, and calls
 * are as they were. The function it resolves with takes everything back.
 *
 * Call it before guards are made of the runtime: those of decorated methods are traced from then on. `holdfast serve` calls
 * it by itself. What the spans hold of errors is redacted; payloads and contexts are in none.
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { openTelemetry } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } } })
 * const stop = await openTelemetry(hf)
 * await hf.run('quick', () => 'saved') // => 'saved'
 * stop()
 * await hf.close()
 * ```
 */
export const openTelemetry = (hf: Holdfast): Promise<() => void> =>
  connectOpenTelemetry(hf, () => import('@opentelemetry/api'))
