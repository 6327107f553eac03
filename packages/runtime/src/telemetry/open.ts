import type { Holdfast } from '../holdfast/holdfast.js'
import { connectOpenTelemetry } from './otel.js'

/**
 * Connects a runtime to OpenTelemetry: a span for every call, an event for each attempt, the metrics of {@link prometheus}. The trace
 * id is the correlation id of calls that have none. Without `@opentelemetry/api` nothing happens. The function that it
 * resolves with disconnects the runtime, unless another caller has connected it too.
 *
 * Call it before guards are created by the runtime; decorated methods are traced from then on. `holdfast serve` calls
 * it automatically. Errors in spans are redacted; payloads and contexts are not in spans.
 *
 * @example
 * ```ts
 * import { Holdfast, openTelemetry } from '@holdfast/runtime'
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
