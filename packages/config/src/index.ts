export { ActiveConfig } from './active-config.js'
export { breakerEntryOptions } from './breaker-entry.js'
export {
  type CallConfiguration,
  type CallPolicy,
  initialPolicyId,
  type OperationConfig,
} from './call-configuration.js'
export { type Checked, checkConfig, type ParseOptions, parseConfig } from './check.js'
export type { DeadLetterOptions } from './dead-letter-options.js'
export { parsePolicyEntry } from './entry.js'
export { isVariableName } from './environment.js'
export type { ErrorLogOptions } from './error-log-options.js'
export {
  type ExplainedPolicy,
  type ExplainedValue,
  type Explanation,
  explain,
  undeclaredNotes,
} from './explain.js'
export { encodeExplanation, explanationSchema } from './explanation-codec.js'
export { FileReload, type Reloaded } from './file/reload.js'
export { ApiChanges } from './live-changes/api-changes.js'
export type { LayerChange } from './live-changes/history.js'
export type { Layer } from './live-changes/layer.js'
export type { MemberChange } from './live-changes/member-schema.js'
export { openStoredLayer } from './live-changes/member-secrets.js'
export {
  addMember,
  changeMember,
  idProblem,
  type LayeredMember,
  layeredMembers,
  type MemberEntry,
  memberId,
  removeMember,
} from './live-changes/members.js'
export {
  type Migration,
  type MigrationProblem,
  type MigrationReport,
  migrateConfig,
  type OldFile,
} from './migrate/migrate.js'
export { type DecoratedMethod, decoratorOverrides } from './overrides.js'
export { callConfiguration, deadLetterOptions, errorLogOptions } from './part-options.js'
export { type ConfigInvalid, formatValue, lineOf, type Problem } from './problem.js'
export { type ResolvedConfig, resolveConfig } from './resolved.js'
export { RETENTION } from './retention.js'
export type { Actor, EventInput, Logger, RuntimeContext } from './runtime-context.js'
export type { ScheduledWait, Wait } from './schedule.js'
export { jsonSchema } from './schema/json-schema.js'
export { type BreakerEntry, type Config, configCodec, type WireConfig } from './schema/schema.js'
export { type ConfigSource, loadSource } from './source.js'
export type { Environment } from './text/interpolate.js'
