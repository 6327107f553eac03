/**
 * Internal parts of the runtime, for the other packages of the project. They can change with every release; applications
 * import from `@holdfast/runtime`.
 *
 * @packageDocumentation
 */

export { SKIP_REASONS } from '../dead-letters/replay-batch.js'
export { countMembers, MEMBER_STATUSES } from '../pools/member-status.js'
export { EventCounters } from '../telemetry/event-counters.js'
export { EXPOSITION_CONTENT_TYPE, formatExposition } from '../telemetry/exposition.js'
export { METRICS, type MetricsReading } from '../telemetry/metrics.js'
export { connectOpenTelemetry } from '../telemetry/otel.js'
export { readMetrics } from '../telemetry/read.js'
