export type { CallOptions, Health, OpenOptions } from './api-types.js'
export { type Checked, checkConfig, type ParseOptions, parseConfig } from './config/check.js'
export type { ExplainedPolicy, ExplainedValue, Explanation } from './config/explain.js'
export {
  type Migration,
  type MigrationProblem,
  type MigrationReport,
  migrateConfig,
  type OldFile,
} from './config/migrate/migrate.js'
export type { ConfigInvalid, Problem } from './config/problem.js'
export type { ScheduledWait, Wait } from './config/schedule.js'
export { jsonSchema } from './config/schema/json-schema.js'
export { type Config, configCodec, type WireConfig } from './config/schema/schema.js'
export type { Configuration, Reloaded } from './configuration.js'
export type { DeadLetters } from './dead-letters/dead-letters.js'
export type { DeadLetterInput } from './dead-letters/entry.js'
export type { DeadLetterHandler } from './dead-letters/handlers.js'
export type { BatchOptions, BatchProgress, BatchResult } from './dead-letters/replay-batch.js'
export type { WorkOptions } from './dead-letters/replay-worker.js'
export type { FleetStatus } from './fleet/coordinator.js'
export type { FleetEvent } from './fleet/event-stream.js'
export type { Fleet } from './fleet/fleet.js'
export type { FleetNode } from './fleet/membership.js'
export { Holdfast } from './holdfast.js'
export type {
  Pipeline,
  PipelineItem,
  PipelineOptions,
  PipelineProgress,
  PipelineResult,
} from './pipeline/pipeline.js'
export type { Step, StepContext, StepFallbackContext } from './pipeline/step.js'
export { MemberTarget } from './pools/target.js'
export * from './records/breaker.js'
export * from './records/dead-letter.js'
export * from './records/errors.js'
export * from './records/metrics.js'
export {
  type MigratedRecords,
  type MigrateRecordsOptions,
  type MigrateRecordsReport,
  migrateRecords,
} from './records/migrate/migrate.js'
export * from './records/policy.js'
export * from './records/responses.js'
export * from './records/session.js'
export { toWire, type Wire } from './records/wire.js'
export { makeRedactor, type RedactOptions } from './redact/redact.js'
export type { Actor, Logger } from './runtime-context.js'
export { openStore } from './store/open.js'
export type * from './store/store.js'
