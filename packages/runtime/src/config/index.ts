// The configuration alone, for whoever reads files and makes no calls: the command starts in a fraction of the time.

export type { Config, Layer } from '@holdfast/config'
export {
  type Checked,
  checkConfig,
  type Explanation,
  explain,
  layeredMembers,
  lineOf,
  migrateConfig,
  openStoredLayer,
  type ParseOptions,
  type Problem,
  type ResolvedConfig,
  resolveConfig,
  undeclaredNotes,
} from '@holdfast/config'
