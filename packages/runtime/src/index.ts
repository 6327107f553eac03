export {
  type Actor,
  type Checked,
  type Config,
  type ConfigInvalid,
  checkConfig,
  configCodec,
  type ExplainedPolicy,
  type ExplainedValue,
  type Explanation,
  encodeExplanation,
  explanationSchema,
  jsonSchema,
  type Logger,
  type Migration,
  type MigrationProblem,
  type MigrationReport,
  migrateConfig,
  type OldFile,
  type ParseOptions,
  type Problem,
  parseConfig,
  type ScheduledWait,
  type Wait,
  type WireConfig,
} from '@holdfast/config'
export { type FleetEvent, type FleetNode, type FleetStatus } from '@holdfast/fleet'
export {
  type MigratedRecords,
  type MigrateRecordsOptions,
  type MigrateRecordsReport,
  makeRedactor,
  migrateRecords,
  type RedactOptions,
} from '@holdfast/records'
export * from '@holdfast/records/schemas'
export { openStore } from '@holdfast/store'
export type * from '@holdfast/store/interface'
export type { CallOptions, Health, OpenOptions } from './api-types.js'
export type { Configuration, Reloaded } from './config/configuration.js'
export type { DeadLetters } from './dead-letters/dead-letters.js'
export type { DeadLetterInput } from './dead-letters/entry.js'
export type {
  DeadLetterCount,
  DeadLetterListFilter,
  DeadLetterSelection,
  TextSearch,
} from './dead-letters/filter.js'
export type { DeadLetterHandler } from './dead-letters/handlers.js'
export type { BatchOptions, BatchProgress, BatchResult, SkippedEntries } from './dead-letters/replay-batch.js'
export type { ReplayOptions } from './dead-letters/replay-one.js'
export type { WorkOptions } from './dead-letters/replay-worker.js'
export type { Fleet } from './fleet/fleet.js'
export { Holdfast } from './holdfast/holdfast.js'
export type { RequestOptions, RuntimeFetchOptions } from './http/options.js'
export type * from './operations.js'
export type {
  Pipeline,
  PipelineItem,
  PipelineOptions,
  PipelineProgress,
  PipelineResult,
} from './pipeline/pipeline.js'
export type { Step, StepContext, StepFallbackContext } from './pipeline/step.js'
export { MemberTarget } from './pools/target.js'
export { openTelemetry } from './telemetry/open.js'
export { prometheus } from './telemetry/prometheus.js'
export type { MetricsSource } from './telemetry/source.js'
export { toWire, type Wire } from './wire.js'
