import type { z } from 'zod'
import { editDistance } from './nearest.js'
import { READY } from './ready.js'
import { type PolicyEntry, policyEntryCodec } from './schema/schema.js'
import { childOf, kindOf, shapeOf } from './schema/walk.js'
import { type Environment, typedFor } from './text/interpolate.js'

const PREFIX = 'HOLDFAST_'

/** A name as the environment writes it: capitals, and `_` for all that is no letter or digit. */
export const variableName = (name: string): string => name.replace(/[^a-z0-9]/gi, '_').toUpperCase()

/** Whether the path of a problem is the name of a variable, whoever it is meant for. */
export const isVariable = (path: string): boolean => path.startsWith(PREFIX)

/** A value of the config that the environment gives. */
export interface Given {
  readonly variable: string
  /** Where it goes, in the wire's spelling. */
  readonly path: readonly string[]
}

type Mapping = Record<string, unknown>

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The names that may stand under a place: the keys of an object, or those that a record has. */
function namesAt(schema: z.core.$ZodType, value: unknown, path: readonly string[]): string[] {
  if (kindOf(schema) === 'object') return Object.keys(shapeOf(schema))
  if (kindOf(schema) !== 'record') return []
  const own = isMapping(value) ? Object.keys(value) : []
  return path.length === 1 && path[0] === 'policies' ? [...new Set([...own, ...Object.keys(READY)])] : own
}

/** The path that the rest of a variable's name leads to. The longest names are tried first. */
function pathOf(
  schema: z.core.$ZodType,
  value: unknown,
  rest: string,
  path: readonly string[],
): readonly string[] | undefined {
  const names = namesAt(schema, value, path)
  for (const name of names.toSorted((a, b) => b.length - a.length)) {
    const variable = variableName(name)
    const child = childOf(schema, name)
    if (child === undefined || !(rest === variable || rest.startsWith(`${variable}_`))) continue
    const held = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
    const kind = kindOf(child)
    if (kind === 'object' || kind === 'record') {
      const found = pathOf(child, held, rest.slice(variable.length + 1), [...path, name])
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
): Given[] {
  const given: Given[] = []
  let known: string[] | undefined
  for (const variable of Object.keys(env).toSorted()) {
    const text = env[variable]
    if (!variable.startsWith(PREFIX) || text === undefined) continue
    const path = pathOf(schema, wire, variable.slice(PREFIX.length), [])
    if (path === undefined) {
      known ??= variablesOf(schema, wire, [])
      const meant = likest(variable, known)
      const why =
        meant === undefined
          ? unnamed(schema, wire, variable)
          : `is no variable of ours (did you mean ${meant}?)`
      if (why !== undefined) onUnread(variable, why)
      continue
    }
    if (put(schema, wire, path, text)) given.push({ variable, path })
  }
  return given
}

/** So many names are told at most. */
const SHOWN = 8

/** Why a variable such as `HOLDFAST_POLICIES_NAME_…` gives no value: nothing under that section has the name. */
function unnamed(schema: z.core.$ZodType, wire: Mapping, variable: string): string | undefined {
  for (const section of namesAt(schema, wire, [])) {
    const record = childOf(schema, section)
    if (record === undefined || kindOf(record) !== 'record') continue
    const inner = childOf(record, '')
    const of = inner && (kindOf(inner) === 'object' || kindOf(inner) === 'record')
    if (!of || !variable.startsWith(`${PREFIX}${variableName(section)}_`)) continue
    const names = namesAt(record, wire[section], [section])
    const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
    return `names nothing under ${section}; there are: ${names.slice(0, SHOWN).join(', ') || 'none'}${more}`
  }
  return undefined
}

/** So many letters may be wrong in the name of a variable that is meant for one of ours. */
const SLIP = 2

/** The name that is most like another, where one is like it at all. There may be tens of thousands to look at. */
function likest(variable: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = SLIP + 1
  for (const name of known) {
    if (Math.abs(name.length - variable.length) >= least) continue
    const far = editDistance(name, variable)
    if (far < least) [best, least] = [name, far]
  }
  return best
}

/** The variables that there could be for a config: `HOLDFAST_STORE`, `HOLDFAST_SERVER_PORT` … */
function variablesOf(schema: z.core.$ZodType, value: unknown, path: readonly string[]): string[] {
  return namesAt(schema, value, path).flatMap((name) => {
    const child = childOf(schema, name)
    if (child === undefined) return []
    const own = [...path, name]
    const kind = kindOf(child)
    const held = isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
    if (kind === 'object' || kind === 'record') return variablesOf(child, held, own)
    return kind === 'anything' ? [] : [PREFIX + own.map(variableName).join('_')]
  })
}

/** Puts a variable's text in place; not into what is no mapping, which is wrong by itself. */
function put(schema: z.core.$ZodType, wire: Mapping, path: readonly string[], text: string): boolean {
  let place = wire
  let inner = schema
  for (const step of path.slice(0, -1)) {
    inner = childOf(inner, step) as z.core.$ZodType
    if (!Object.hasOwn(place, step)) place[step] = readyAt(path, step)
    const next = place[step]
    if (!isMapping(next)) return false
    place = next
  }
  const last = path.at(-1) as string
  place[last] = typedFor(childOf(inner, last) as z.core.$ZodType, text)
  return true
}

/** A ready policy of which one value is changed keeps the others. */
const readyAt = (path: readonly string[], step: string): Mapping =>
  path[0] === 'policies' && path[1] === step && Object.hasOwn(READY, step)
    ? (policyEntryCodec.encode(READY[step] as PolicyEntry) as Mapping)
    : {}
