import { editDistance } from '@holdfast/records'
import type { z } from 'zod'
import { isMapping, type Mapping } from '../mapping.js'
import type { ProblemFacts } from '../problems/problem.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import { type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { childOf, kindOf, shapeOf } from '../schema/walk.js'
import { type Environment, parseForSchema } from './interpolate.js'

const VARIABLE_PREFIX = 'HOLDFAST_'

/** The form of a name in environment variables: upper case, with `_` for everything but letters and digits. */
export const variableName = (name: string): string => name.replace(/[^a-z0-9]/gi, '_').toUpperCase()

/** Whether the path of a problem is the name of an environment variable. */
export const isVariableName = (path: string): boolean => path.startsWith(VARIABLE_PREFIX)

/** A config value that an environment variable sets. */
export interface EnvironmentValue {
  readonly variable: string
  /** The wire path of the value. */
  readonly path: readonly string[]
}

/** The possible names below a value: the keys of an object schema, or the existing keys of a record. */
function keysAt(schema: z.core.$ZodType, value: unknown, path: readonly string[]): string[] {
  if (kindOf(schema) === 'object') return Object.keys(shapeOf(schema))
  if (kindOf(schema) !== 'record') return []
  const own = isMapping(value) ? Object.keys(value) : []
  return path.length === 1 && path[0] === 'policies'
    ? [...new Set([...own, ...Object.keys(BUILT_IN_POLICIES)])]
    : own
}

/** The path that the remaining part of a variable's name denotes. Longer names are tried first. */
function pathOfVariable(
  schema: z.core.$ZodType,
  value: unknown,
  rest: string,
  path: readonly string[],
): readonly string[] | undefined {
  const names = keysAt(schema, value, path)
  for (const name of names.toSorted((a, b) => b.length - a.length)) {
    const variable = variableName(name)
    const child = childOf(schema, name)
    if (child === undefined || !(rest === variable || rest.startsWith(`${variable}_`))) continue
    const childValue = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
    const kind = kindOf(child)
    if (kind === 'object' || kind === 'record') {
      const found = pathOfVariable(child, childValue, rest.slice(variable.length + 1), [...path, name])
      if (found) return found
    } else if (rest === variable && kind !== 'anything') return [...path, name]
  }
  return undefined
}

/**
 * Applies variables such as `HOLDFAST_SERVER_PORT` to `wire`, and returns the applied values. A variable with a probable
 * typo, or one that names an unknown entry, is passed to `onUnread`; all other variables belong to other programs.
 */
export function applyEnvironment(
  schema: z.core.$ZodType,
  wire: Mapping,
  env: Environment,
  onUnread: (variable: string, facts: ProblemFacts) => void,
): EnvironmentValue[] {
  const values: EnvironmentValue[] = []
  let known: string[] | undefined
  for (const variable of Object.keys(env).toSorted()) {
    const text = env[variable]
    if (!variable.startsWith(VARIABLE_PREFIX) || text === undefined) continue
    const path = pathOfVariable(schema, wire, variable.slice(VARIABLE_PREFIX.length), [])
    if (path === undefined) {
      known ??= knownVariables(schema, wire, [])
      const suggestion = closestName(variable, known)
      const facts: ProblemFacts | undefined =
        suggestion === undefined
          ? findUnknownName(schema, wire, variable)
          : { code: 'unknown', expected: [suggestion], got: 'variable', suggestion }
      if (facts !== undefined) onUnread(variable, facts)
      continue
    }
    if (setValue(schema, wire, path, text)) values.push({ variable, path })
  }
  return values
}

/** The problem of a variable such as `HOLDFAST_POLICIES_NAME_…` that has no effect: the section has no such name. */
function findUnknownName(schema: z.core.$ZodType, wire: Mapping, variable: string): ProblemFacts | undefined {
  for (const section of keysAt(schema, wire, [])) {
    const record = childOf(schema, section)
    if (record === undefined || kindOf(record) !== 'record') continue
    const inner = childOf(record, '')
    const of = inner && (kindOf(inner) === 'object' || kindOf(inner) === 'record')
    if (!of || !variable.startsWith(`${VARIABLE_PREFIX}${variableName(section)}_`)) continue
    return {
      code: 'unknown',
      expected: keysAt(record, wire[section], [section]),
      got: `name under ${section}`,
    }
  }
  return undefined
}

/** How many letters of a variable's name can be wrong. */
const MAX_TYPOS = 2

/** The most similar name, if one is similar enough. There may be tens of thousands of candidates. */
function closestName(variable: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = MAX_TYPOS + 1
  for (const name of known) {
    if (Math.abs(name.length - variable.length) >= bestDistance) continue
    const nameDistance = editDistance(name, variable)
    if (nameDistance < bestDistance) [best, bestDistance] = [name, nameDistance]
  }
  return best
}

/** All possible variables of a config: `HOLDFAST_STORE`, `HOLDFAST_SERVER_PORT` … */
function knownVariables(schema: z.core.$ZodType, value: unknown, path: readonly string[]): string[] {
  return keysAt(schema, value, path).flatMap((name) => {
    const child = childOf(schema, name)
    if (child === undefined) return []
    const own = [...path, name]
    const kind = kindOf(child)
    const held = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
    if (kind === 'object' || kind === 'record') return knownVariables(child, held, own)
    return kind === 'anything' ? [] : [VARIABLE_PREFIX + own.map(variableName).join('_')]
  })
}

/** Sets the value of a variable. Nothing is set below a value that is not a mapping, which is a problem of its own. */
function setValue(schema: z.core.$ZodType, wire: Mapping, path: readonly string[], text: string): boolean {
  let target = wire
  let inner = schema
  for (const step of path.slice(0, -1)) {
    inner = childOf(inner, step) as z.core.$ZodType
    if (!Object.hasOwn(target, step)) target[step] = initialMapping(path, step)
    const next = target[step]
    if (!isMapping(next)) return false
    target = next
  }
  const last = path.at(-1) as string
  target[last] = parseForSchema(childOf(inner, last) as z.core.$ZodType, text)
  return true
}

/** A built-in policy keeps its other values when a variable changes one. */
const initialMapping = (path: readonly string[], step: string): Mapping =>
  path[0] === 'policies' && path[1] === step && Object.hasOwn(BUILT_IN_POLICIES, step)
    ? (policyEntryCodec.encode(BUILT_IN_POLICIES[step] as PolicyEntry) as Mapping)
    : {}
