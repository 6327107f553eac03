import type { z } from 'zod'
import { suggest } from './nearest.js'
import { pathText } from './problem.js'
import {
  bare,
  childOf,
  encodeLeaf,
  itemOf,
  kindOf,
  type Spelling,
  shapeOf,
  spell,
  takesNull,
} from './schema/walk.js'
import type { Interpolate } from './text/interpolate.js'

/** What preparing a value needs, and where it tells what it found. */
export interface Preparation {
  readonly spelling: Spelling
  /** What the whole is called. @defaultValue the config */
  readonly whole?: string
  readonly interpolate: Interpolate
  /** Tells of a problem at a path in the source's spelling. */
  problem(path: readonly string[], message: string, at: 'key' | 'value'): void
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Brings what was written to the wire's spelling: keys of code to those of files, milliseconds to seconds, variables to
 * their values, empty sections to empty mappings. Keys that the schema does not know are told of and left out.
 */
export function prepare(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly string[],
  work: Preparation,
): unknown {
  const kind = kindOf(schema)
  if (kind === 'anything') return copy(value, path, work, new Set())
  if (value === null || value === undefined) {
    const empty = value === null && !takesNull(schema) && (kind === 'object' || kind === 'record')
    return empty ? {} : value
  }
  const item = Array.isArray(value) ? itemOf(schema) : undefined
  if (item !== undefined)
    return (value as unknown[]).map((held, i) => prepare(item, held, [...path, `${i}`], work))
  if (kind === 'array') return work.interpolate(schema, value, path)
  if (kind !== 'object' && kind !== 'record') {
    const wire = work.spelling === 'code' ? encodeLeaf(schema, value) : value
    return work.interpolate(schema, wire, path)
  }
  if (!isMapping(value)) return value
  return kind === 'object' ? ofObject(schema, value, path, work) : ofRecord(schema, value, path, work)
}

function ofObject(
  schema: z.core.$ZodType,
  value: Record<string, unknown>,
  path: readonly string[],
  work: Preparation,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  const known = wireKeys(schema, work.spelling)
  for (const [key, held] of Object.entries(value)) {
    if (held === undefined) continue
    const wire = known.get(key)
    if (wire === undefined) {
      const like = suggest(key, known.keys())
      const hint = like === undefined ? `, takes ${some([...known.keys()])}` : ` (did you mean ${like}?)`
      work.problem(
        [...path, key],
        `is no key of ${path.length === 0 ? (work.whole ?? 'the config') : pathText(path)}${hint}`,
        'key',
      )
      continue
    }
    const child = childOf(schema, wire) as z.core.$ZodType
    const prepared = prepare(child, held, [...path, key], work)
    // A section that is there and empty says nothing; anything else that is null must be allowed to be.
    if (prepared !== undefined) result[wire] = prepared
  }
  return result
}

const some = (keys: string[]): string =>
  keys.length > 12
    ? `one of ${keys.slice(0, 12).join(', ')} and ${keys.length - 12} more`
    : `one of ${keys.join(', ')}`

function ofRecord(
  schema: z.core.$ZodType,
  value: Record<string, unknown>,
  path: readonly string[],
  work: Preparation,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, held] of Object.entries(value)) {
    if (held === undefined) continue
    if (!isName(key, [...path, key], work)) continue
    const prepared = prepare(childOf(schema, key) as z.core.$ZodType, held, [...path, key], work)
    if (prepared !== undefined) result[key] = prepared
  }
  return result
}

/** Names are used as keys of objects, where one means something else, and an empty one says nothing. */
function isName(key: string, path: readonly string[], work: Preparation): boolean {
  if (key !== '__proto__' && key.trim() !== '') return true
  work.problem(path, `${JSON.stringify(key)} cannot be a name, takes another`, 'key')
  return false
}

const keyCache = new WeakMap<object, Map<string, string>>()

/** The keys of an object as they are spelled in the source, each with that of the wire. */
function wireKeys(schema: z.core.$ZodType, spelling: Spelling): Map<string, string> {
  const shape = shapeOf(schema)
  if (spelling === 'wire') {
    let known = keyCache.get(bare(schema))
    if (known === undefined) {
      known = new Map(Object.keys(shape).map((key) => [key, key]))
      keyCache.set(bare(schema), known)
    }
    return known
  }
  return new Map(Object.keys(shape).map((key) => [spell(key, spelling), key]))
}

/** A copy of a value that no schema describes, variables replaced. What holds itself is told of. */
function copy(value: unknown, path: readonly string[], work: Preparation, above: Set<object>): unknown {
  if (typeof value === 'string') return work.interpolate(undefined, value, path)
  if (typeof value !== 'object' || value === null) return value
  if (above.has(value)) {
    work.problem(path, 'holds itself, takes a value that does not', 'value')
    return undefined
  }
  above.add(value)
  const result = Array.isArray(value)
    ? value.map((item, i) => copy(item, [...path, `${i}`], work, above))
    : Object.fromEntries(
        Object.entries(value)
          .filter(([key]) => isName(key, [...path, key], work))
          .map(([key, item]) => [key, copy(item, [...path, key], work, above)]),
      )
  above.delete(value)
  return result
}
