import { editDistance } from '@holdfast/records'
import type { z } from 'zod'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import { type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { childOf, kindOf, shapeOf } from '../schema/walk.js'
import { type Environment, parseForSchema } from './interpolate.js'

const VARIABLE_PREFIX = 'HOLDFAST_'

/** A name as the environment writes it: capitals, and `_` for all that is no letter or digit. */
export const variableName = (name: string): string => name.replace(/[^a-z0-9]/gi, '_').toUpperCase()

/** Whether the path of a problem is the name of a variable, whoever it is meant for. */
export const isVariableName = (path: string): boolean => path.startsWith(VARIABLE_PREFIX)

/** A value of the config that the environment gives. */
export interface EnvironmentValue {
  readonly variable: string
  /** Where it goes, in the wire's spelling. */
  readonly path: readonly string[]
}

type Mapping = Record<string, unknown>

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The names that may stand under a place: the keys of an object, or those that a record has. */
function keysAt(schema: z.core.$ZodType, value: unknown, path: readonly string[]): string[] {
  if (kindOf(schema) === 'object') return Object.keys(shapeOf(schema))
  if (kindOf(schema) !== 'record') return []
  const own = isMapping(value) ? Object.keys(value) : []
  return path.length === 1 && path[0] === 'policies'
    ? [...new Set([...own, ...Object.keys(BUILT_IN_POLICIES)])]
    : own
}

/** The path that the rest of a variable's name leads to. The longest names are tried first. */
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
 * Puts the values of variables such as `HOLDFAST_SERVER_PORT` in place, changing `wire`, and tells which. A variable that
 * is nearly one of ours, or that names what is not there, goes to `onUnread`; all others are somebody else's.
 */
export function applyEnvironment(
  schema: z.core.$ZodType,
  wire: Mapping,
  env: Environment,
  onUnread: (variable: string, why: string) => void,
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
      const why =
        suggestion === undefined
          ? unknownNameReason(schema, wire, variable)
          : `is no variable of ours (did you mean ${suggestion}?)`
      if (why !== undefined) onUnread(variable, why)
      continue
    }
    if (setValue(schema, wire, path, text)) values.push({ variable, path })
  }
  return values
}

/** So many names are told at most. */
const MAX_NAMES_SHOWN = 8

/** Why a variable such as `HOLDFAST_POLICIES_NAME_…` gives no value: nothing under that section has the name. */
function unknownNameReason(schema: z.core.$ZodType, wire: Mapping, variable: string): string | undefined {
  for (const section of keysAt(schema, wire, [])) {
    const record = childOf(schema, section)
    if (record === undefined || kindOf(record) !== 'record') continue
    const inner = childOf(record, '')
    const of = inner && (kindOf(inner) === 'object' || kindOf(inner) === 'record')
    if (!of || !variable.startsWith(`${VARIABLE_PREFIX}${variableName(section)}_`)) continue
    const names = keysAt(record, wire[section], [section])
    const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : ''
    return `names nothing under ${section}; there are: ${names.slice(0, MAX_NAMES_SHOWN).join(', ') || 'none'}${more}`
  }
  return undefined
}

/** So many letters may be wrong in the name of a variable that is meant for one of ours. */
const MAX_TYPOS = 2

/** The name that is most like another, where one is like it at all. There may be tens of thousands to look at. */
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

/** The variables that there could be for a config: `HOLDFAST_STORE`, `HOLDFAST_SERVER_PORT` … */
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

/** Puts a variable's text in place; not into what is no mapping, which is wrong by itself. */
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

/** A ready policy of which one value is changed keeps the others. */
const initialMapping = (path: readonly string[], step: string): Mapping =>
  path[0] === 'policies' && path[1] === step && Object.hasOwn(BUILT_IN_POLICIES, step)
    ? (policyEntryCodec.encode(BUILT_IN_POLICIES[step] as PolicyEntry) as Mapping)
    : {}
