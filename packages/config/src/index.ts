export { ActiveConfig } from './active-config/active-config.js'
export { type Checked, checkConfig, type ParseOptions, parseConfig } from './check/check.js'
export { parsePolicyEntry } from './check/policy-entry.js'
export { CONFIG_DEFAULTS } from './defaults.js'
export { isVariableName } from './environment/environment.js'
export type { Environment } from './environment/interpolate.js'
export {
  type ExplainedPolicy,
  type ExplainedValue,
  type Explanation,
  explain,
  undeclaredNotes,
} from './explain/explain.js'
export { encodeExplanation, explanationSchema } from './explain/explanation-codec.js'
export type { ScheduledWait, Wait } from './explain/schedule.js'
export { checkText } from './file/check-text.js'
export { type ConfigSource, loadSource } from './file/source.js'
export { ApiChanges } from './live-changes/api-changes.js'
export type { LayerDifference } from './live-changes/diff.js'
export type { LayerChange } from './live-changes/history.js'
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
} from './members/members.js'
export {
  type Migration,
  type MigrationProblem,
  type MigrationReport,
  migrateConfig,
  type OldFile,
} from './migrate/migrate.js'
export {
  type ConfigInvalid,
  createCallInvalid,
  describeProblem,
  lineOf,
  type Problem,
} from './problems/describe.js'
export { formatValue } from './problems/format-value.js'
export type { ConfigProblem } from './problems/problem.js'
export { FileReload, type Reloaded } from './reload/reload.js'
export {
  type CallConfiguration,
  type CallPolicy,
  initialPolicyId,
  type OperationConfig,
} from './resolve/call-configuration.js'
export type { DeadLetterOptions } from './resolve/dead-letter-options.js'
export type { ErrorLogOptions } from './resolve/error-log-options.js'
export { decoratorOverrides } from './resolve/overrides.js'
export { callConfiguration, deadLetterOptions, errorLogOptions } from './resolve/part-options.js'
export { type ResolvedConfig, resolveConfig } from './resolve/resolve-config.js'
export type { Actor, EventInput, Logger, RuntimeContext } from './runtime-context.js'
export { breakerEntryOptions } from './schema/breaker-entry.js'
export { BUILT_IN_POLICIES } from './schema/built-in-policies.js'
export { jsonSchema } from './schema/json-schema.js'
export type { Layer } from './schema/layer.js'
export type { MemberChange } from './schema/member-change.js'
export { redactConfig, redactUrls } from './schema/redact-config.js'
export { type BreakerEntry, type Config, configCodec, type WireConfig } from './schema/schema.js'
