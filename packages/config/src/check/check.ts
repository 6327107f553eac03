import { anyString, checkOptions, type OptionCheck } from '@holdfast/records'
import type { Environment } from '../environment/interpolate.js'
import { isMapping } from '../mapping.js'
import { createConfigInvalid, describeProblem, type Problem } from '../problems/describe.js'
import { formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch } from '../problems/problem.js'
import type { Config } from '../schema/schema.js'
import type { SourceLocations } from '../source-locations.js'
import { parseText } from '../text/document.js'
import { CURRENT_VERSION } from '../version.js'
import { type CheckResult, checkInput } from './check-input.js'

/** The result of checking a config. */
export interface Checked {
  /** The config; absent if there are problems. */
  readonly config?: Config
  /** All problems. */
  readonly problems: readonly Problem[]
  /** Warnings, which do not make the config invalid. */
  readonly warnings: readonly Problem[]
  /** The position of each value in the file. */
  readonly places: SourceLocations
  /** The variables of the environment that can be overrides. */
  readonly overrideVariables?: Environment
}

/** The options of `parseConfig`. */
export interface ParseOptions {
  /** The name of the text in messages. @defaultValue 'config' */
  file?: string | undefined
  /** The variables for `${VAR}` and `HOLDFAST_…`. @defaultValue the environment of the process */
  env?: Environment | undefined
  /** `json` accepts only JSON; `yaml` accepts YAML 1.2, which includes JSON. @defaultValue 'yaml' */
  format?: 'yaml' | 'json' | undefined
}

const OPTION_CHECKS: Readonly<Record<keyof ParseOptions, OptionCheck>> = {
  file: anyString,
  env: ['an object', (value) => typeof value === 'object' && value !== null],
  format: ['yaml or json', (value) => value === 'yaml' || value === 'json'],
}

/** Checks the text of a config and returns all problems and warnings. Never throws. */
export function checkConfig(text: string, options: ParseOptions = {}): Checked {
  const result = checkConfigText(text, options)
  return {
    ...result,
    problems: result.problems.map(describeProblem),
    warnings: result.warnings.map(describeProblem),
  }
}

/** Checks the text of a config and returns all problems and warnings as data. Never throws. */
export function checkConfigText(text: string, options: ParseOptions = {}): CheckResult {
  const { env = process.env, format = 'yaml' } = options
  const file = options.file ?? 'config'
  if (typeof text !== 'string') return rejected([{ path: '', ...mismatch('a string', formatValue(text)) }])
  const source = parseText(text.replace(/^\ufeff/, ''))
  if ('problems' in source) return rejected(source.problems)
  if (format === 'json' && !isJson(text))
    return rejected([{ path: '', line: 1, column: 1, code: 'syntax', expected: 'JSON', got: '' }])
  return checkInput({ ...source, spelling: 'wire', file }, env)
}

const rejected = (problems: readonly ConfigProblem[]): CheckResult => ({ problems, warnings: [], places: {} })

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Checks a config object with camelCase keys and milliseconds. */
export function checkObject(value: unknown, env: Environment = process.env): CheckResult {
  const withVersion =
    isMapping(value) && value.version === undefined ? { ...value, version: CURRENT_VERSION } : value
  return checkInput({ value: withVersion, spelling: 'code' }, env)
}

/**
 * Parses the text of a config file, YAML 1.2 or JSON, and returns it with camelCase keys and milliseconds. `${VAR}` reads
 * the environment, `${VAR:-default}` has a default, and variables such as `HOLDFAST_SERVER_PORT` replace single values.
 * Absent keys stay absent.
 *
 * @throws CONFIG_INVALID that lists all problems, each with line, column and the expected and actual value; the same is
 * in `details` as lines and in `problems` as data
 *
 * @example
 * ```ts
 * import { parseConfig } from '@holdfast/runtime'
 *
 * const config = parseConfig('version: "1.2.0"\npolicies: { fetch: { max_attempts: 4, base_delay: 0.2 } }')
 * config.policies?.fetch // => { maxAttempts: 4, baseDelay: 200 }
 * parseConfig('version: "1.2.0"\npolices: {}') // throws CONFIG_INVALID
 * ```
 */
export function parseConfig(text: string, options: ParseOptions = {}): Config {
  checkOptions('the config cannot be read', options, {}, OPTION_CHECKS)
  const { config, problems } = checkConfigText(text, options)
  if (config === undefined) throw createConfigInvalid(options.file ?? 'the config', problems, options.file)
  return config
}

/** Parses a config object: camelCase keys, durations in milliseconds or as `'30s'`. @throws CONFIG_INVALID */
export function parseConfigObject(value: unknown, env: Environment = process.env): Config {
  const { config, problems } = checkObject(value, env)
  if (config === undefined) throw createConfigInvalid('the config', problems)
  return config
}
