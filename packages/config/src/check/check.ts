import {
  anyString,
  camelKey,
  checkOptions,
  freezeInPlace,
  type OptionCheck,
  suggest,
} from '@holdfast/records'
import type { z } from 'zod'
import { applyEnvironment } from '../environment/environment.js'
import { createInterpolate, type Environment } from '../environment/interpolate.js'
import {
  createConfigInvalid,
  describeMismatch,
  formatPath,
  formatValue,
  type Problem,
  type TextPosition,
  withoutSecrets,
} from '../problem.js'
import { overrideVariables } from '../resolve/overrides.js'
import { checkRules } from '../rules/rules.js'
import { type Config, configCodec, configSchema } from '../schema/schema.js'
import { maskedPath, mayHoldSecret } from '../schema/secrets.js'
import { childOf, enumValues, expectedValue, type KeyStyle, kindOf, walkPath } from '../schema/walk.js'
import { locationKey, type SourceLocations } from '../source-locations.js'
import { parseText } from '../text/document.js'
import { CURRENT_VERSION } from '../version.js'
import { normalize } from './normalize.js'

/** The result of checking a config. */
export interface Checked {
  /** The config; absent where there are problems. */
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

interface CheckInput {
  readonly value: unknown
  readonly spelling: KeyStyle
  readonly file?: string | undefined
  locate?(path: readonly string[], at?: 'key' | 'value'): TextPosition
}

/** Checks the text of a config and returns all problems and warnings. Never throws. */
export function checkConfig(text: string, options: ParseOptions = {}): Checked {
  const { env = process.env, format = 'yaml' } = options
  const file = options.file ?? 'config'
  if (typeof text !== 'string')
    return {
      problems: [{ path: '', message: describeMismatch('a string', formatValue(text)) }],
      warnings: [],
      places: {},
    }
  const source = parseText(text.replace(/^\ufeff/, ''))
  if ('problems' in source)
    return {
      problems: source.problems.map((problem) => ({ path: '', ...problem })),
      warnings: [],
      places: {},
    }
  if (format === 'json' && !isJson(text))
    return {
      problems: [{ path: '', line: 1, column: 1, message: 'not valid JSON' }],
      warnings: [],
      places: {},
    }
  return checkInput({ ...source, spelling: 'wire', file }, env)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Checks a config object with camelCase keys and milliseconds. */
export function checkObject(value: unknown, env: Environment = process.env): Checked {
  const withVersion =
    isMapping(value) && value.version === undefined ? { ...value, version: CURRENT_VERSION } : value
  return checkInput({ value: withVersion, spelling: 'code' }, env)
}

type Mapping = Record<string, unknown>

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function checkInput(source: CheckInput, env: Environment): Checked {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const { spelling, locate } = source
  /** The source paths whose value came from a variable, and the variables by wire path. */
  const fromEnv = new Set<string>()
  const variables = new Map<string, string>()

  const addProblem = (
    path: readonly string[],
    message: string,
    position: 'key' | 'value' = 'value',
  ): Problem => ({
    path: formatPath(maskedPath(path, spelling)),
    ...locate?.(path, position),
    message,
  })
  if (!isMapping(source.value)) {
    const expected =
      spelling === 'code' ? 'an object' : `a mapping with at least a version: version: "${CURRENT_VERSION}"`
    return {
      problems: [addProblem([], describeMismatch(expected, formatValue(source.value)))],
      warnings,
      places: {},
    }
  }
  const wire = normalize(configSchema, source.value, [], {
    spelling,
    // Variables are not replaced in objects: code can read the environment itself, and its strings may look like variables.
    interpolate:
      spelling === 'code'
        ? (_schema, value) => value
        : createInterpolate(
            env,
            (path) => fromEnv.add(locationKey(...path)),
            (path, message) => problems.push(addProblem(path, message)),
          ),
    onProblem: (path, message, position) => problems.push(addProblem(path, message, position)),
  }) as Mapping

  const input = applyEnvironment(configSchema, wire, env, (variable, why) =>
    warnings.push({ path: variable, message: why }),
  )
  for (const { variable, path } of input) variables.set(locationKey(...path), variable)

  /** Creates a problem at a wire path. */
  const problemAt = (path: readonly string[], message: string, position?: 'key' | 'value'): Problem => {
    const [first = ''] = path
    if (path.length === 1 && childOf(configSchema, first) === undefined) return { path: first, message }
    for (let end = path.length; end > 0; end--) {
      const variable = variables.get(locationKey(...path.slice(0, end)))
      if (variable !== undefined) return { path: variable, message }
    }
    return addProblem(walkPath(configSchema, path, spelling).path, message, position)
  }
  /** Formats the value at a wire path for a message, without values of variables and without secrets. */
  const formatValueAt = (path: readonly string[]): string => {
    const { path: own, schema } = walkPath(configSchema, path, spelling)
    if (variables.has(locationKey(...path))) return 'a value that is not shown'
    const written = own.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], source.value)
    if (fromEnv.has(locationKey(...own))) return `${formatValue(written)} (whose value is not shown)`
    if (!mayHoldSecret(schema)) return formatValue(written)
    if (typeof written === 'string') return 'a string that is not shown'
    return typeof written === 'number' ? 'a value that is not shown' : formatValue(written)
  }
  const whereOf = (path: readonly string[]): string => {
    const { path: named, line } = problemAt(path, '')
    return line === undefined ? named : `${named} (line ${line})`
  }

  const config = decodeConfig(wire, (path) => {
    const { schema } = walkPath(configSchema, path, spelling)
    const got = formatValueAt(path)
    const hint = suggestionFor(
      schema,
      path.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], wire),
    )
    problems.push(problemAt(path, `${describeMismatch(expectedValue(schema, spelling), got)}${hint}`))
  })
  if (config !== undefined) {
    checkRules(
      { config, spelling, formatValueAt, formatLocation: whereOf, variables: new Set(variables.keys()), env },
      (path, message, position) => problems.push(problemAt(path, message, position)),
      (path, message, position) => warnings.push(problemAt(path, message, position)),
    )
  }
  const sorted = sortProblems(problems)
  const places = sorted.length === 0 ? sourceLocationsOf(wire, source, variables) : {}
  return {
    ...(config !== undefined && sorted.length === 0 && { config: freezeInPlace(config) }),
    problems: sorted,
    warnings: sortProblems(warnings),
    places,
    overrideVariables: overrideVariables(env),
  }
}

/** A hint with the most similar value of an enum. */
function suggestionFor(schema: z.core.$ZodType, value: unknown): string {
  const suggestion = typeof value === 'string' ? suggest(value, enumValues(schema)) : undefined
  return suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`
}

/** Sorts problems by their position and removes duplicates. */
function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map(withoutSecrets).map((problem) => [JSON.stringify(problem), problem]))
  return [...unique.values()].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}

/**
 * Decodes a wire config. Invalid values are reported and removed, so that the rules between values can be checked for all
 * others.
 */
function decodeConfig(wire: Mapping, onProblem: (path: readonly string[]) => void): Config | undefined {
  for (let round = 0; round < MAX_DECODE_ROUNDS; round++) {
    const result = configCodec.safeDecode(round === 0 ? wire : { version: CURRENT_VERSION, ...wire })
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      const path = issue.path.map(String)
      // A value that is missing from the second round on was removed in the first.
      if (round === 0) onProblem(path)
      removeAt(wire, path)
    }
  }
  return undefined
}

/** Removing a value may make its parent invalid, several levels up. */
const MAX_DECODE_ROUNDS = 6

function removeAt(wire: Mapping, path: readonly string[]): void {
  const last = path.at(-1)
  if (last === undefined) return
  const above = path.slice(0, -1)
  const parent = above.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], wire)
  // A mapping that lacks a required key, and a list with an invalid entry, are removed completely.
  if (Array.isArray(parent) || (isMapping(parent) && !Object.hasOwn(parent, last))) removeAt(wire, above)
  else if (isMapping(parent)) {
    // An invalid policy stays as an empty one, so that references to it are not reported too.
    if (path.length === 2 && kindOf(walkPath(configSchema, path, 'wire').schema) === 'object')
      parent[last] = {}
    else delete parent[last]
  }
}

function sourceLocationsOf(
  wire: Mapping,
  source: CheckInput,
  variables: ReadonlyMap<string, string>,
): SourceLocations {
  const locations: Record<string, string> = {}
  const addLocation = (path: readonly string[]): void => {
    const field = camelKey(path.at(-1) as string)
    const variable = variables.get(locationKey(...path))
    if (variable !== undefined) locations[locationKey(...path.slice(0, -1), field)] = variable
    else if (source.locate) {
      const { line, column } = source.locate(path)
      locations[locationKey(...path.slice(0, -1), field)] = `${source.file}:${line}:${column}`
    }
  }
  for (const field of Object.keys(Object(wire.global_defaults))) addLocation(['global_defaults', field])
  for (const key of Object.keys(Object(wire.overrides)))
    if (source.locate) {
      const { line, column } = source.locate(['overrides', key])
      locations[locationKey('overrides', key)] = `${source.file}:${line}:${column}`
    }
  for (const [id, entry] of Object.entries(Object(wire.policies)))
    for (const field of Object.keys(entry as object)) addLocation(['policies', id, field])
  return locations
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
  const { config, problems } = checkConfig(text, options)
  if (config === undefined) throw createConfigInvalid(options.file ?? 'the config', problems, options.file)
  return config
}

/** Parses a config object: camelCase keys, durations in milliseconds or as `'30s'`. @throws CONFIG_INVALID */
export function parseConfigObject(value: unknown, env: Environment = process.env): Config {
  const { config, problems } = checkObject(value, env)
  if (config === undefined) throw createConfigInvalid('the config', problems)
  return config
}
