import { suggest } from '@holdfast/records'
import type { z } from 'zod'
import type { Interpolate } from '../environment/interpolate.js'
import { isMapping } from '../mapping.js'
import { formatPath } from '../problems/format-value.js'
import { mismatch, type ProblemFacts } from '../problems/problem.js'
import {
  childOf,
  encodeLeaf,
  formatKeyAs,
  itemOf,
  type KeyStyle,
  kindOf,
  shapeOf,
  takesNull,
  unwrap,
} from '../schema/walk.js'

/** The inputs and callbacks of `normalize`. */
export interface NormalizeContext {
  readonly spelling: KeyStyle
  /** The name of the root value in messages. @defaultValue the config */
  readonly rootName?: string
  readonly interpolate: Interpolate
  /** Reports a problem at a path in the spelling of the source. */
  onProblem(path: readonly string[], facts: ProblemFacts, at: 'key' | 'value'): void
}

/**
 * Converts a value to its wire form: keys to snake_case, milliseconds to seconds, variables to their values, empty sections
 * to empty mappings. Unknown keys are reported and removed.
 */
export function normalize(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly string[],
  context: NormalizeContext,
): unknown {
  const kind = kindOf(schema)
  if (kind === 'anything') return copyUnknown(value, path, context, new Set())
  if (value === null || value === undefined) {
    const isEmpty = value === null && !takesNull(schema) && (kind === 'object' || kind === 'record')
    return isEmpty ? {} : value
  }
  const item = Array.isArray(value) ? itemOf(schema) : undefined
  if (item !== undefined)
    return (value as unknown[]).map((childValue, i) =>
      normalize(item, childValue, [...path, `${i}`], context),
    )
  if (kind === 'array') return context.interpolate(schema, value, path)
  if (kind !== 'object' && kind !== 'record') {
    const wire = context.spelling === 'code' ? encodeLeaf(schema, value) : value
    return context.interpolate(schema, wire, path)
  }
  if (!isMapping(value)) return value
  return kind === 'object'
    ? normalizeObject(schema, value, path, context)
    : normalizeRecord(schema, value, path, context)
}

function normalizeObject(
  schema: z.core.$ZodType,
  value: Record<string, unknown>,
  path: readonly string[],
  context: NormalizeContext,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  const known = wireKeys(schema, context.spelling)
  for (const [key, childValue] of Object.entries(value)) {
    if (childValue === undefined) continue
    const wire = known.get(key)
    if (wire === undefined) {
      const owner = path.length === 0 ? (context.rootName ?? 'the config') : formatPath(path)
      context.onProblem(
        [...path, key],
        {
          code: 'unknown',
          expected: [...known.keys()],
          got: `key of ${owner}`,
          suggestion: suggest(key, known.keys()),
        },
        'key',
      )
      continue
    }
    const child = childOf(schema, wire) as z.core.$ZodType
    const normalized = normalize(child, childValue, [...path, key], context)
    // An empty section becomes an empty mapping; any other null must be allowed by the schema.
    if (normalized !== undefined) result[wire] = normalized
  }
  return result
}

function normalizeRecord(
  schema: z.core.$ZodType,
  value: Record<string, unknown>,
  path: readonly string[],
  context: NormalizeContext,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, childValue] of Object.entries(value)) {
    if (childValue === undefined) continue
    if (!isValidName(key, [...path, key], context)) continue
    const normalized = normalize(childOf(schema, key) as z.core.$ZodType, childValue, [...path, key], context)
    if (normalized !== undefined) result[key] = normalized
  }
  return result
}

/** Rejects names that are empty, or that have a special meaning as object keys. */
function isValidName(key: string, path: readonly string[], context: NormalizeContext): boolean {
  if (key !== '__proto__' && key.trim() !== '') return true
  context.onProblem(path, mismatch('another name', JSON.stringify(key)), 'key')
  return false
}

const keyCache = new WeakMap<object, Map<string, string>>()

/** The keys of an object in the spelling of the source, each with its wire key. */
function wireKeys(schema: z.core.$ZodType, spelling: KeyStyle): Map<string, string> {
  const shape = shapeOf(schema)
  if (spelling === 'wire') {
    let known = keyCache.get(unwrap(schema))
    if (known === undefined) {
      known = new Map(Object.keys(shape).map((key) => [key, key]))
      keyCache.set(unwrap(schema), known)
    }
    return known
  }
  return new Map(Object.keys(shape).map((key) => [formatKeyAs(key, spelling), key]))
}

/** Copies a value without a schema and replaces its variables. A circular reference is reported. */
function copyUnknown(
  value: unknown,
  path: readonly string[],
  context: NormalizeContext,
  ancestors: Set<object>,
): unknown {
  if (typeof value === 'string') return context.interpolate(undefined, value, path)
  if (typeof value !== 'object' || value === null) return value
  if (ancestors.has(value)) {
    context.onProblem(path, mismatch('a value without circular references', 'one'), 'value')
    return undefined
  }
  ancestors.add(value)
  const result = Array.isArray(value)
    ? value.map((item, i) => copyUnknown(item, [...path, `${i}`], context, ancestors))
    : Object.fromEntries(
        Object.entries(value)
          .filter(([key]) => isValidName(key, [...path, key], context))
          .map(([key, item]) => [key, copyUnknown(item, [...path, key], context, ancestors)]),
      )
  ancestors.delete(value)
  return result
}
