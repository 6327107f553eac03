/**
 * Reports the calls of guards to OpenTelemetry.
 *
 * @packageDocumentation
 */

export { type InstrumentedGuard, type InstrumentOptions, instrument } from './instrument.js'
export type { Counter, Histogram, Meter, Span, Tracer } from './types.js'
