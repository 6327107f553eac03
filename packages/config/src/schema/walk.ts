import { camelKey } from '@holdfast/records'
import { z } from 'zod'
import { fieldInfo } from './fields.js'

type Schema = z.core.$ZodType

// oxlint-disable-next-line no-explicit-any -- the definitions of zod's kinds share no type that says what each holds
const defOf = (schema: Schema): any => (schema as any)._zod.def

/** Removes the optional and nullable wrappers of a schema. */
export function unwrap(schema: Schema): Schema {
  const { type, innerType } = defOf(schema)
  return type === 'optional' || type === 'nullable' ? unwrap(innerType) : schema
}

/** Whether a schema accepts null. */
export function takesNull(schema: Schema): boolean {
  const { type, innerType } = defOf(schema)
  return type === 'nullable' || (type === 'optional' && takesNull(innerType))
}

/** The kind of value that a schema describes. */
export type SchemaKind = 'object' | 'record' | 'array' | 'text' | 'scalar' | 'either' | 'anything'

const KIND_BY_ZOD_TYPE: { readonly [type: string]: SchemaKind } = {
  object: 'object',
  record: 'record',
  array: 'array',
  string: 'text',
  enum: 'text',
  pipe: 'either',
  // All unions accept a string or a list of strings.
  union: 'text',
  unknown: 'anything',
}

/** The kind of value that a schema describes; `either` accepts numbers and strings, as durations do. */
export const kindOf = (schema: Schema): SchemaKind => KIND_BY_ZOD_TYPE[defOf(unwrap(schema)).type] ?? 'scalar'

/** The schemas of an object by key. */
export const shapeOf = (schema: Schema): { readonly [key: string]: Schema } => defOf(unwrap(schema)).shape

/** The schema of the value under a key, if there is one. */
export function childOf(schema: Schema, key: string): Schema | undefined {
  const inner = unwrap(schema)
  const def = defOf(inner)
  if (def.type === 'object') return Object.hasOwn(def.shape, key) ? def.shape[key] : undefined
  if (def.type === 'record') return def.valueType
  return def.type === 'array' ? def.element : undefined
}

/** The schema of a list's items, if the schema accepts a list. */
export function itemOf(schema: Schema): Schema | undefined {
  const { type, element, options = [] } = defOf(unwrap(schema))
  if (type === 'array') return element
  const arrayOption = options.find((option: Schema) => defOf(option).type === 'array')
  return arrayOption && defOf(arrayOption).element
}

/** Converts a TypeScript value to its wire form: milliseconds become seconds. Other values are not changed. */
export function encodeLeaf(schema: Schema, value: unknown): unknown {
  const { reverseTransform } = defOf(unwrap(schema))
  return typeof value === 'number' && reverseTransform ? reverseTransform(value) : value
}

/**
 * The spelling of keys and units: `wire` as in files (snake_case, seconds), `code` as in TypeScript (camelCase,
 * milliseconds).
 */
export type KeyStyle = 'wire' | 'code'

export const formatKeyAs = (key: string, spelling: KeyStyle): string =>
  spelling === 'wire' ? key : camelKey(key)

/** The expected value of a schema, in words. */
export function expectedValue(schema: Schema, spelling: KeyStyle): string {
  const inner = unwrap(schema)
  const info = fieldInfo.get(inner as never)
  if (info) return (spelling === 'code' ? info.expectedInCode : undefined) ?? info.expected
  const kind = kindOf(inner)
  return kind === 'array' ? 'a list' : spelling === 'code' ? 'an object' : 'a mapping'
}

export const isSecret = (schema: Schema): boolean => fieldInfo.get(unwrap(schema) as never)?.isSecret === true

/** What can be shown of a secret url; undefined for other values. */
export const shownUrlParts = (schema: Schema) => fieldInfo.get(unwrap(schema) as never)?.shownUrlParts

/** Converts a wire path to another spelling, and returns the schema at its end, or the last one on the way. */
export function walkPath(
  root: Schema,
  path: readonly string[],
  spelling: KeyStyle,
): { path: string[]; schema: Schema } {
  let schema = root
  const steps: string[] = []
  for (const step of path) {
    const next = childOf(schema, step)
    steps.push(kindOf(schema) === 'object' ? formatKeyAs(step, spelling) : step)
    if (next === undefined) break
    schema = next
  }
  return { path: steps, schema }
}

/** The values of an enum schema; empty for other schemas. */
export const enumValues = (schema: Schema): string[] => {
  const { type, entries } = defOf(unwrap(schema))
  return type === 'enum' ? Object.values(entries) : []
}
