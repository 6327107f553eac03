import type { KeyStyle } from '../schema/walk.js'

/** A position in a text. Line and column start at 1. */
export interface TextPosition {
  /** The line, from 1. */
  readonly line: number
  /** The column, from 1. */
  readonly column: number
}

/**
 * The kinds of problems. `describe.ts` has the wording of each:
 *
 * - `invalid`: a value is not one of the expected values
 * - `conflict`: a value contradicts another value
 * - `not_found`: a value refers to something that does not exist
 * - `unknown`: a key, variable or name is not known; `expected` lists the known ones, `got` says what is unknown
 * - `not_set`: `got` is an environment variable that is not set
 * - `syntax`: the text is not valid in the format `expected`; `got` is the reason, or empty
 * - `not_readable`: something cannot be read; `got` is the reason
 * - `not_loadable`: a module cannot be loaded; `got` is the reason
 * - `needs_version`: a section or key (`got`) needs the version `expected`
 * - `needs_restart`: a change takes effect after a restart; of the store, `got` is the new url and `expected` the current one
 */
export type ProblemCode =
  | 'invalid'
  | 'conflict'
  | 'not_found'
  | 'unknown'
  | 'not_set'
  | 'syntax'
  | 'not_readable'
  | 'not_loadable'
  | 'needs_version'
  | 'needs_restart'

/** A duration in milliseconds. It is displayed in the unit of the source. */
export interface DurationValue {
  readonly ms: number
  /** The layer that sets the value, where that is not the place of the problem. */
  readonly origin?: 'built-in' | 'global_defaults' | undefined
}

/** A value that must not be less than another field. Keys are those of the wire. */
interface MinimumField {
  /** The key of the other field. */
  readonly atLeast: string
  /** The value of the other field, where that is known. */
  readonly value?: DurationValue | undefined
  /** The key that has the problem and its policy, where the path of the problem does not name them. */
  readonly of?: { readonly key: string; readonly policy: string } | undefined
}

/** What is wrong with a value. */
export interface ProblemFacts {
  /** The kind of problem. */
  readonly code: ProblemCode
  /** The expected value in words, the known names, or another field. */
  readonly expected: string | readonly string[] | MinimumField
  /** The value that was found: a duration, or a few characters without secrets. */
  readonly got: string | DurationValue
  /** The most similar known name. */
  readonly suggestion?: string | undefined
  /** The consequence of the problem or its solution, as the end of a sentence. */
  readonly hint?: string | undefined
}

/** A problem of a config, or a warning about it, as data. `describeProblem` words it where it is displayed. */
export interface ConfigProblem extends ProblemFacts, Partial<TextPosition> {
  /** The keys that lead to the value, separated by dots, or the name of the environment variable that set it. */
  readonly path: string
  /** The spelling of the path, and the unit in which durations are displayed. @defaultValue 'wire' */
  readonly spelling?: KeyStyle | undefined
}

/** A value that is not the expected one. */
export const mismatch = (expected: string, got: string): ProblemFacts => ({ code: 'invalid', expected, got })

/** A reference to something that does not exist. */
export const notFound = (expected: string, got: string, suggestion?: string): ProblemFacts => ({
  code: 'not_found',
  expected,
  got,
  suggestion,
})
