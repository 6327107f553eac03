import type { Environment } from '../environment/interpolate.js'
import type { ProblemFacts } from '../problems/problem.js'
import type { Config } from '../schema/schema.js'
import { formatKeyAs, type KeyStyle } from '../schema/walk.js'

/** A config whose single values are valid. */
export interface RuleContext {
  readonly config: Config
  readonly spelling: KeyStyle
  /** Formats the value at a wire path, for messages. */
  formatValueAt(path: readonly string[]): string
  /** Whether the value at a wire path comes from a variable of the environment, so that no message can show it. */
  isFromVariable(path: readonly string[]): boolean
  /** Formats a wire path with its line, for messages about two locations. */
  formatLocation(path: readonly string[]): string
  /** The paths whose values come from variables. */
  readonly variables: ReadonlySet<string>
  readonly env: Environment
}

/** Reports a problem at a wire path. */
export type ReportProblem = (path: readonly string[], facts: ProblemFacts, at?: 'key' | 'value') => void

/** A wire key in the spelling of the source. */
export const formatKey = (context: RuleContext, key: string): string => formatKeyAs(key, context.spelling)
