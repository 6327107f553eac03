import { anyString, camelKey, checkOptions, type OptionCheck, suggest } from '@holdfast/records'
import type { z } from 'zod'
import { applyEnvironment } from '../environment/environment.js'
import { createInterpolate, type Environment } from '../environment/interpolate.js'
import {
  createConfigInvalid,
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
import { deepFreeze, locationKey, type SourceLocations } from '../source-locations.js'
import { parseText } from '../text/document.js'
import { CURRENT_VERSION } from '../version.js'
import { normalize } from './normalize.js'

/** What checking a config came to. */
export interface Checked {
  /** What it says; absent where something is wrong. */
  readonly config?: Config
  /** Everything that is wrong. */
  readonly problems: readonly Problem[]
  /** What is not wrong, but worth knowing. */
  readonly warnings: readonly Problem[]
  readonly places: SourceLocations
  /** The variables of the environment that can be overrides. */
  readonly overrideVariables?: Environment
}

/** How a text is read. */
export interface ParseOptions {
  /** What the text is called in messages. @defaultValue 'config' */
  file?: string | undefined
  /** Where `${VAR}` and `HOLDFAST_…` are looked up. @defaultValue the environment of the process */
  env?: Environment | undefined
  /** `json` takes JSON alone; `yaml` takes YAML 1.2, of which JSON is a part. @defaultValue 'yaml' */
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

/**
 * Reads a config's text and tells everything that is wrong with it, and what is worth knowing. It throws nothing.
 */
export function checkConfig(text: string, options: ParseOptions = {}): Checked {
  const { env = process.env, format = 'yaml' } = options
  const file = options.file ?? 'config'
  if (typeof text !== 'string')
    return {
      problems: [{ path: '', message: `got ${formatValue(text)}, takes a text` }],
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
    return { problems: [{ path: '', line: 1, column: 1, message: 'is no JSON' }], warnings: [], places: {} }
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

/** Checks a config that is an object of TypeScript's: camelCase, milliseconds. */
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
  /** Places whose value came from a variable, and variables that gave a value, by path in the source's and the wire's spelling. */
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
      problems: [addProblem([], `got ${formatValue(source.value)}, takes ${expected}`)],
      warnings,
      places: {},
    }
  }
  const wire = normalize(configSchema, source.value, [], {
    spelling,
    // Code has its own ways to read the environment, and texts of its own that may look like a variable.
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

  /** A problem at a path of the wire. */
  const tell = (path: readonly string[], message: string, position?: 'key' | 'value'): Problem => {
    const [first = ''] = path
    if (path.length === 1 && childOf(configSchema, first) === undefined) return { path: first, message }
    for (let end = path.length; end > 0; end--) {
      const variable = variables.get(locationKey(...path.slice(0, end)))
      if (variable !== undefined) return { path: variable, message }
    }
    return addProblem(walkPath(configSchema, path, spelling).path, message, position)
  }
  /** What stands at a path of the wire, for a message: never what a variable held, and no secret. */
  const formatValueAt = (path: readonly string[]): string => {
    const { path: own, schema } = walkPath(configSchema, path, spelling)
    if (variables.has(locationKey(...path))) return 'a value that it does not take'
    const written = own.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], source.value)
    if (fromEnv.has(locationKey(...own))) return `${formatValue(written)} (whose value is not shown)`
    if (!mayHoldSecret(schema)) return formatValue(written)
    if (typeof written === 'string') return 'a text that is not shown'
    return typeof written === 'number' ? 'a value that is not shown' : formatValue(written)
  }
  const whereOf = (path: readonly string[]): string => {
    const { path: named, line } = tell(path, '')
    return line === undefined ? named : `${named} (line ${line})`
  }

  const config = decodeConfig(wire, (path) => {
    const { schema } = walkPath(configSchema, path, spelling)
    const got = formatValueAt(path)
    const hint = suggestionFor(
      schema,
      path.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], wire),
    )
    problems.push(
      tell(
        path,
        `${got === 'nothing' ? 'is not there' : `got ${got}`}, takes ${expectedValue(schema, spelling)}${hint}`,
      ),
    )
  })
  if (config !== undefined) {
    checkRules(
      { config, spelling, formatValueAt, formatLocation: whereOf, variables: new Set(variables.keys()), env },
      (path, message, position) => problems.push(tell(path, message, position)),
      (path, message, position) => warnings.push(tell(path, message, position)),
    )
  }
  const sorted = sortProblems(problems)
  const places = sorted.length === 0 ? sourceLocationsOf(wire, source, variables) : {}
  return {
    ...(config !== undefined && sorted.length === 0 && { config: deepFreeze(config) }),
    problems: sorted,
    warnings: sortProblems(warnings),
    places,
    overrideVariables: overrideVariables(env),
  }
}

/** The word that was meant, where a place takes one of a few. */
function suggestionFor(schema: z.core.$ZodType, value: unknown): string {
  const suggestion = typeof value === 'string' ? suggest(value, enumValues(schema)) : undefined
  return suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`
}

/** In the order of the text, each once. */
function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map(withoutSecrets).map((problem) => [JSON.stringify(problem), problem]))
  return [...unique.values()].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}

/**
 * The config of a wire form. What is wrong is told by its path and taken out, so that the rules between values can be
 * checked on all the rest.
 */
function decodeConfig(wire: Mapping, onProblem: (path: readonly string[]) => void): Config | undefined {
  for (let round = 0; round < MAX_DECODE_ROUNDS; round++) {
    const result = configCodec.safeDecode(round === 0 ? wire : { version: CURRENT_VERSION, ...wire })
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      const path = issue.path.map(String)
      // What is missing from the second round on was taken out in the first.
      if (round === 0) onProblem(path)
      removeAt(wire, path)
    }
  }
  return undefined
}

/** Taking out a part may leave a whole that lacks it, some levels deep. */
const MAX_DECODE_ROUNDS = 6

function removeAt(wire: Mapping, path: readonly string[]): void {
  const last = path.at(-1)
  if (last === undefined) return
  const above = path.slice(0, -1)
  const parent = above.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], wire)
  // What lacks a part, and a list with a bad entry, goes as a whole.
  if (Array.isArray(parent) || (isMapping(parent) && !Object.hasOwn(parent, last))) removeAt(wire, above)
  else if (isMapping(parent)) {
    // A policy that is no mapping is there all the same for whoever names it.
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
 * Reads the text of a config file, YAML 1.2 or JSON, and gives what it says in TypeScript's spelling: camelCase, and
 * durations in milliseconds. `${VAR}` reads the environment, `${VAR:-default}` has a value for where it is not set, and
 * variables such as `HOLDFAST_SERVER_PORT` replace single values. What the text leaves out is left out.
 *
 * @throws CONFIG_INVALID that lists everything wrong, each with line, column, what it got and what it takes; the same is
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

/** Reads a config that is an object: camelCase, durations in milliseconds or as `'30s'`. @throws CONFIG_INVALID */
export function parseConfigObject(value: unknown, env: Environment = process.env): Config {
  const { config, problems } = checkObject(value, env)
  if (config === undefined) throw createConfigInvalid('the config', problems)
  return config
}
