import { camelKey } from '@holdfast/records'
import { z } from 'zod'
import { fieldInfo } from './fields.js'

type Schema = z.core.$ZodType

// oxlint-disable-next-line no-explicit-any -- the definitions of zod's kinds share no type that says what each holds
const defOf = (schema: Schema): any => (schema as any)._zod.def

/** A schema without what makes it optional or nullable. */
export function unwrap(schema: Schema): Schema {
  const { type, innerType } = defOf(schema)
  return type === 'optional' || type === 'nullable' ? unwrap(innerType) : schema
}

/** Whether a schema takes null. */
export function takesNull(schema: Schema): boolean {
  const { type, innerType } = defOf(schema)
  return type === 'nullable' || (type === 'optional' && takesNull(innerType))
}

/** What kind of place a schema describes. */
export type SchemaKind = 'object' | 'record' | 'array' | 'text' | 'scalar' | 'either' | 'anything'

const KIND_BY_ZOD_TYPE: { readonly [type: string]: SchemaKind } = {
  object: 'object',
  record: 'record',
  array: 'array',
  string: 'text',
  enum: 'text',
  pipe: 'either',
  // The only ones there are take a text, or several of them.
  union: 'text',
  unknown: 'anything',
}

/** What kind of place a schema describes; `either` takes numbers and words, as durations do. */
export const kindOf = (schema: Schema): SchemaKind => KIND_BY_ZOD_TYPE[defOf(unwrap(schema)).type] ?? 'scalar'

/** The keys that an object takes. */
export const shapeOf = (schema: Schema): { readonly [key: string]: Schema } => defOf(unwrap(schema)).shape

/** The schema of what stands under a key, where there is one. */
export function childOf(schema: Schema, key: string): Schema | undefined {
  const inner = unwrap(schema)
  const def = defOf(inner)
  if (def.type === 'object') return Object.hasOwn(def.shape, key) ? def.shape[key] : undefined
  if (def.type === 'record') return def.valueType
  return def.type === 'array' ? def.element : undefined
}

/** The schema of what a list holds, where a place takes one. */
export function itemOf(schema: Schema): Schema | undefined {
  const { type, element, options = [] } = defOf(unwrap(schema))
  if (type === 'array') return element
  const arrayOption = options.find((option: Schema) => defOf(option).type === 'array')
  return arrayOption && defOf(arrayOption).element
}

/** The wire form of a leaf of TypeScript's: milliseconds become seconds. What is no number is left as it is. */
export function encodeLeaf(schema: Schema, value: unknown): unknown {
  const { reverseTransform } = defOf(unwrap(schema))
  return typeof value === 'number' && reverseTransform ? reverseTransform(value) : value
}

/** How keys are written: as in files, or as in TypeScript. */
export type KeyStyle = 'wire' | 'code'

export const formatKeyAs = (key: string, spelling: KeyStyle): string =>
  spelling === 'wire' ? key : camelKey(key)

/** What a place takes, in words. */
export function expectedValue(schema: Schema, spelling: KeyStyle): string {
  const inner = unwrap(schema)
  const info = fieldInfo.get(inner as never)
  if (info) return (spelling === 'code' ? info.expectedInCode : undefined) ?? info.expected
  const kind = kindOf(inner)
  return kind === 'array' ? 'a list' : spelling === 'code' ? 'an object' : 'a mapping'
}

export const isSecret = (schema: Schema): boolean => fieldInfo.get(unwrap(schema) as never)?.isSecret === true

/** A path of the wire in another spelling, and the schema at its end, or at the last place that has one. */
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

/** The words that a place takes, where it takes one of a few. */
export const enumValues = (schema: Schema): string[] => {
  const { type, entries } = defOf(unwrap(schema))
  return type === 'enum' ? Object.values(entries) : []
}
