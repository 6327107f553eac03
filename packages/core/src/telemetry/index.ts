/**
 * Reports the calls of guards to OpenTelemetry.
 *
 * @packageDocumentation
 */

export { type InstrumentableGuard, type InstrumentOptions, instrument } from './instrument.js'
export type { Counter, Histogram, Meter, Span, Tracer } from './types.js'
