import type { Environment } from '../environment/interpolate.js'
import type { Config } from '../schema/schema.js'
import { formatKeyAs, type KeyStyle } from '../schema/walk.js'

/** A config of which every value by itself is right. */
export interface RuleContext {
  readonly config: Config
  readonly spelling: KeyStyle
  /** What stands at a path of the wire, for messages. */
  formatValueAt(path: readonly string[]): string
  /** A path of the wire with the line it is on, for messages about two places. */
  formatLocation(path: readonly string[]): string
  /** The paths whose value a variable gave. */
  readonly variables: ReadonlySet<string>
  readonly env: Environment
}

/** Tells of something at a path of the wire. */
export type ReportProblem = (path: readonly string[], message: string, at?: 'key' | 'value') => void

/** A key of the wire as the source spells it. */
export const formatKey = (context: RuleContext, key: string): string => formatKeyAs(key, context.spelling)
