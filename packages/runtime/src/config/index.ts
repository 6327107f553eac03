// The configuration alone, for whoever reads files and makes no calls: the command starts in a fraction of the time.
export { type Checked, checkConfig, type ParseOptions } from './check.js'
export { type Explanation, explain, undeclaredNotes } from './explain.js'
export type { Layer } from './layer/layer.js'
export { layeredMembers } from './layer/members.js'
export { migrateConfig } from './migrate/migrate.js'
export { lineOf, type Problem } from './problem.js'
export { type ResolvedConfig, resolveConfig } from './resolved.js'
export type { Config } from './schema/schema.js'
