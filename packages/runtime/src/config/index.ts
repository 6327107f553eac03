// The configuration alone, for programs that read config files and run no calls. It loads much faster than the whole runtime.

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
  redactConfig,
  redactUrls,
  resolveConfig,
  undeclaredNotes,
} from '@holdfast/config'
