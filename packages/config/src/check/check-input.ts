import { freezeInPlace, suggest } from '@holdfast/records'
import type { z } from 'zod'
import { applyEnvironment } from '../environment/environment.js'
import { createInterpolate, type Environment } from '../environment/interpolate.js'
import { isMapping, type Mapping } from '../mapping.js'
import { formatPath, formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch, type ProblemFacts } from '../problems/problem.js'
import { overrideVariables } from '../resolve/overrides.js'
import { checkRules } from '../rules/rules.js'
import { type Config, configSchema } from '../schema/schema.js'
import { maskedPath, mayHoldSecret } from '../schema/secrets.js'
import { childOf, enumValues, expectedValue, type KeyStyle, walkPath } from '../schema/walk.js'
import { locationKey, type SourceLocations } from '../source-locations.js'
import { CURRENT_VERSION } from '../version.js'
import { decodeConfig } from './decode.js'
import { type LocatedSource, sourceLocationsOf } from './locations.js'
import { normalize } from './normalize.js'

/** A config as it is written, in a file or in code. */
interface CheckInput extends LocatedSource {
  readonly value: unknown
  readonly spelling: KeyStyle
}

/** The result of checking a config, with its problems as data. */
export interface CheckResult {
  /** The config; absent where there are problems. */
  readonly config?: Config
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  readonly places: SourceLocations
  readonly overrideVariables?: Environment
}

/** Checks a config and returns all problems and warnings. Never throws. */
export function checkInput(source: CheckInput, env: Environment): CheckResult {
  const problems: ConfigProblem[] = []
  const warnings: ConfigProblem[] = []
  const { spelling, locate } = source
  /** The source paths whose value came from a variable, and the variables by wire path. */
  const fromEnv = new Set<string>()
  const variables = new Map<string, string>()

  /** Creates a problem at a path in the spelling of the source. */
  const createProblem = (
    path: readonly string[],
    facts: ProblemFacts,
    position: 'key' | 'value' = 'value',
  ): ConfigProblem => ({
    ...facts,
    path: formatPath(maskedPath(path, spelling)),
    spelling,
    ...locate?.(path, position),
  })
  if (!isMapping(source.value)) {
    const expected =
      spelling === 'code' ? 'an object' : `a mapping with at least a version: version: "${CURRENT_VERSION}"`
    return {
      problems: [createProblem([], mismatch(expected, formatValue(source.value)))],
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
            (path, facts) => problems.push(createProblem(path, facts)),
          ),
    onProblem: (path, facts, position) => problems.push(createProblem(path, facts, position)),
  }) as Mapping

  const input = applyEnvironment(configSchema, wire, env, (variable, facts) =>
    warnings.push({ ...facts, path: variable }),
  )
  for (const { variable, path } of input) variables.set(locationKey(...path), variable)

  /** Creates a problem at a wire path. */
  const problemAt = (
    path: readonly string[],
    facts: ProblemFacts,
    position?: 'key' | 'value',
  ): ConfigProblem => {
    const [first = ''] = path
    if (path.length === 1 && childOf(configSchema, first) === undefined)
      return { ...facts, path: first, spelling }
    for (let end = path.length; end > 0; end--) {
      const variable = variables.get(locationKey(...path.slice(0, end)))
      if (variable !== undefined) return { ...facts, path: variable, spelling }
    }
    return createProblem(walkPath(configSchema, path, spelling).path, facts, position)
  }
  const isFromVariable = (path: readonly string[]): boolean =>
    variables.has(locationKey(...path)) ||
    fromEnv.has(locationKey(...walkPath(configSchema, path, spelling).path))
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
    const { path: named, line } = problemAt(path, mismatch('', ''))
    return line === undefined ? named : `${named} (line ${line})`
  }

  const config = decodeConfig(wire, (path) => {
    const { schema } = walkPath(configSchema, path, spelling)
    const value = path.reduce<unknown>((held, step) => (Object(held) as Mapping)[step], wire)
    problems.push(
      problemAt(path, {
        code: 'invalid',
        expected: expectedValue(schema, spelling),
        got: formatValueAt(path),
        suggestion: suggestionFor(schema, value),
      }),
    )
  })
  if (config !== undefined) {
    checkRules(
      {
        config,
        spelling,
        formatValueAt,
        isFromVariable,
        formatLocation: whereOf,
        variables: new Set(variables.keys()),
        env,
      },
      (path, facts, position) => problems.push(problemAt(path, facts, position)),
      (path, facts, position) => warnings.push(problemAt(path, facts, position)),
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

/** The most similar value of an enum. */
const suggestionFor = (schema: z.core.$ZodType, value: unknown): string | undefined =>
  typeof value === 'string' ? suggest(value, enumValues(schema)) : undefined

/** Sorts problems by their position and removes duplicates. */
function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), problem]))
  return [...unique.values()].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}
