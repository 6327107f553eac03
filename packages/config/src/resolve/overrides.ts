import { suggest } from '@holdfast/records'
import type { DecoratedMethod } from 'holdfast/decorators'
import { overridePlaces, overrideProblems, SETTING_NAMES } from 'holdfast/internal'
import { variableName } from '../environment/environment.js'
import { type Environment, parseScalar } from '../environment/interpolate.js'
import { createCallInvalid } from '../problems/describe.js'
import { formatValue } from '../problems/format-value.js'
import { mismatch, type ProblemFacts } from '../problems/problem.js'
import { locationKey, type SourceLocations } from '../source-locations.js'
import type { FieldOrigin } from './resolve-policy.js'

/** Every setting that an override can have, by decorator. A file and a variable cannot contain a function. */
const SETTINGS_BY_DECORATOR: { readonly [decorator: string]: readonly string[] } = {
  ...SETTING_NAMES,
  Fallback: SETTING_NAMES.Fallback.filter((setting) => setting !== 'value'),
}

/** Every setting that an override can have, as `Decorator/setting`. */
const SETTING_KEYS = Object.entries(SETTINGS_BY_DECORATOR).flatMap(([decorator, settings]) =>
  settings.map((setting) => `${decorator}/${setting}`),
)

/** The problem of an override; undefined where it is valid. */
export function overrideProblem(
  key: string,
  value: unknown,
  format: (value: unknown) => string,
): ProblemFacts | undefined {
  const parts = key.split('/')
  const [decorator = '', setting = ''] = parts.slice(-2)
  if (parts.length < 2 || parts.length > 4 || parts.includes(''))
    return mismatch(
      'Class/method/Decorator/setting, Class/Decorator/setting or Decorator/setting',
      formatValue(key),
    )
  if (!Object.hasOwn(SETTINGS_BY_DECORATOR, decorator))
    return unknownWord('decorator', decorator, Object.keys(SETTINGS_BY_DECORATOR))
  if (decorator === 'Fallback')
    return {
      code: 'invalid',
      expected: 'another decorator',
      got: 'Fallback',
      hint: 'a config cannot override fallbacks: operations have none of their own, and those of decorated methods are overridden by configureDecorators({ overrides })',
    }
  const knownSettings = SETTINGS_BY_DECORATOR[decorator] ?? []
  if (!knownSettings.includes(setting)) return unknownWord(`${decorator} setting`, setting, knownSettings)
  if (setting === 'enabled')
    return typeof value === 'boolean' ? undefined : mismatch('true or false', format(value))
  const [problem] = overrideProblems(key, decorator, setting, value)
  return problem && mismatch(problem.expected, format(value))
}

const unknownWord = (kind: string, word: string, known: readonly string[]): ProblemFacts => ({
  code: 'invalid',
  expected: `the ${kind} one of ${known.join(', ')}`,
  got: formatValue(word),
  suggestion: suggest(word, known),
})

/**
 * The overrides from environment variables, each with its variable: for the known keys, for all methods, and for the
 * declared methods. A class name cannot be derived from upper case, so it must be known.
 */
export function environmentOverrides(
  env: Environment,
  knownKeys: Iterable<string>,
  methods: Iterable<DecoratedMethod> = [],
): Map<string, { variable: string; value: unknown }> {
  const found = new Map<string, { variable: string; value: unknown }>()
  if (Object.keys(env).length === 0) return found
  const prefixes = ['', ...[...methods].flatMap(({ owner, method }) => [`${owner}/`, `${owner}/${method}/`])]
  const keys = new Set(knownKeys)
  for (const prefix of prefixes) for (const setting of SETTING_KEYS) keys.add(`${prefix}${setting}`)
  for (const key of keys) {
    const variable = variableName(key)
    const text = Object.hasOwn(env, variable) ? env[variable] : undefined
    if (text !== undefined) found.set(key, { variable, value: parseOverrideValue(key, text) })
  }
  return found
}

/** The suffixes of variables that can be overrides. */
const VARIABLE_ENDS = SETTING_KEYS.map(variableName)

/**
 * The variables that can be overrides: those with the suffix of a setting. Whether one applies depends on the names of
 * classes.
 */
export function overrideVariables(env: Environment): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, text] of Object.entries(env))
    if (text !== undefined && VARIABLE_ENDS.some((end) => name === end || name.endsWith(`_${end}`)))
      found[name] = text
  return found
}

/** An override for an operation. */
export interface OverrideValue {
  /** The key in the file: `mail/send/Retry/maxRetries`. */
  readonly key: string
  /** The scope: `mail/send`, `mail`, or empty for every operation. */
  readonly scope: string
  readonly value: unknown
  readonly origin: FieldOrigin
}

/** The overrides for an operation, by `Decorator/setting`. */
export type OperationOverrides = ReadonlyMap<string, OverrideValue>

const NO_OVERRIDES: OperationOverrides = new Map()

/** The sources of overrides. */
export interface OverrideSource {
  readonly config: { readonly overrides?: { readonly [key: string]: unknown } | undefined }
  readonly places?: SourceLocations | undefined
  /** See {@link overrideVariables}. */
  readonly overrideVariables?: Environment | undefined
}

/**
 * The most specific override of each setting for an operation. `subsystem.operation` corresponds to `Class/method`, and a
 * name without a dot to the class. The empty name returns the overrides of every operation.
 *
 * @throws INVALID_OPTIONS where the value of a variable is not valid for its setting
 */
export function overridesFor(source: OverrideSource, operation: string): OperationOverrides {
  const { places = {}, overrideVariables: variables = {} } = source
  const { overrides = {} } = source.config
  const hasVariables = Object.keys(variables).length > 0
  if (!hasVariables && Object.keys(overrides).length === 0) return NO_OVERRIDES
  const [owner, method] = operation.split('.').map((name) => name || undefined)
  const found = new Map<string, OverrideValue>()
  for (const setting of SETTING_KEYS) {
    const [decorator = '', name = ''] = setting.split('/')
    for (const prefix of overridePlaces(decorator, owner, method)) {
      const key = `${prefix}/${name}`
      const scope = key.slice(0, -setting.length - 1)
      const variable = hasVariables ? variableName(key) : ''
      if (hasVariables && Object.hasOwn(variables, variable)) {
        const value = parseOverrideValue(key, variables[variable] ?? '')
        refuseVariable(operation, key, variable, value)
        found.set(setting, { key, scope, value, origin: { origin: 'environment', where: variable } })
      } else if (Object.hasOwn(overrides, key)) {
        const where = places[locationKey('overrides', key)]
        const origin = { origin: 'overrides', ...(where !== undefined && { where }) } as const
        found.set(setting, { key, scope, value: overrides[key], origin })
      }
    }
  }
  return found
}

/**
 * Rejects a variable that is not valid. A variable of a class or operation that the config does not know is first read when
 * it is called.
 */
function refuseVariable(operation: string, key: string, variable: string, value: unknown): void {
  const wrong = overrideProblem(key, value, () => 'another value')
  if (wrong === undefined) return
  throw createCallInvalid(`${operation} cannot be called`, [{ ...wrong, path: variable }])
}

/** The overrides of a config and of the environment, which takes precedence, for decorators. */
export function decoratorOverrides(
  overrides: { readonly [key: string]: unknown } | undefined,
  env: Environment = process.env,
  methods: Iterable<DecoratedMethod> = [],
): Record<string, unknown> {
  const result = { ...overrides }
  for (const [key, { value }] of environmentOverrides(env, Object.keys(result), methods)) result[key] = value
  return result
}

/** The classes in overrides that have no decorated method (yet) and that are not operations of the config either. */
export function undeclaredClasses(
  overrides: { readonly [key: string]: unknown } | undefined,
  methods: Iterable<DecoratedMethod>,
  operations: Iterable<string> = [],
): string[] {
  const known = new Set([...methods].flatMap(({ owner, method }) => [owner, `${owner}/${method}`]))
  for (const operation of operations) {
    const [owner = '', method] = operation.split('.')
    known.add(owner)
    if (method !== undefined) known.add(`${owner}/${method}`)
  }
  const named = Object.keys(overrides ?? {}).map((key) => key.split('/').slice(0, -2).join('/'))
  return [...new Set(named)].filter((scope) => scope !== '' && !known.has(scope))
}

const parseOverrideValue = (key: string, text: string): unknown =>
  /(On)$/.test(key) ? text.split(',').map((item) => item.trim()) : parseScalar(text)
