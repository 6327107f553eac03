import { z } from 'zod'

type CamelKey<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : S

/** `maxAttempts` as `max_attempts`. */
export type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Tail>}`
    : `_${Lowercase<Head>}${SnakeCase<Tail>}`
  : S

/** A wire value with camelCase keys. The content of records and of unknown values is not changed. */
type CamelCasedValue<T> = T extends Date | string
  ? T
  : T extends readonly (infer Item)[]
    ? CamelCasedValue<Item>[]
    : T extends object
      ? { [K in keyof T as K extends string ? CamelKey<K> : K]: CamelCasedValue<T[K]> }
      : T

/** The TypeScript form of the wire record that a schema describes. */
export type CamelCased<S extends z.ZodType> = CamelCasedValue<z.output<S>>

/** Converts `max_attempts` to `maxAttempts`. */
export const camelKey = (key: string): string =>
  key.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Converts `maxAttempts` to `max_attempts`. */
export const snakeKey = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Converts a value from one form to another. */
export type ConvertValue = (value: unknown) => unknown

interface Direction {
  /** The function that converts a leaf value. */
  convertLeaf(def: { transform: ConvertValue; reverseTransform: ConvertValue }): ConvertValue
  /** The key to read, and the key to write, for a key of the schema. */
  keyPair(key: string): readonly [from: string, to: string]
}

const ENCODE: Direction = {
  convertLeaf: ({ reverseTransform }) => reverseTransform,
  keyPair: (key) => [camelKey(key), key],
}
const RENAME: Direction = { convertLeaf: () => identity, keyPair: (key) => [key, camelKey(key)] }
const REVIVE: Direction = { convertLeaf: ({ transform }) => transform, keyPair: RENAME.keyPair }

const identity: ConvertValue = (value) => value

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Compiles the function that converts values of a schema, so that the schema is not walked for every record. */
function compileConverter(schema: z.core.$ZodType, direction: Direction): ConvertValue {
  // oxlint-disable-next-line no-explicit-any -- the definitions of zod types have no common type with their fields
  const def = (schema as any)._zod.def
  switch (def.type as string) {
    case 'object':
      return compileObject(def.shape, direction, def.catchall?._zod.def.type === 'unknown')
    case 'array': {
      const item = compileConverter(def.element, direction)
      return (value) => (item !== identity && Array.isArray(value) ? value.map(item) : value)
    }
    case 'record': {
      const inner = compileConverter(def.valueType, direction)
      if (inner === identity) return identity
      return (value) =>
        isPlainObject(value)
          ? Object.fromEntries(Object.entries(value).map(([key, fieldValue]) => [key, inner(fieldValue)]))
          : value
    }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly': {
      const inner = compileConverter(def.innerType, direction)
      return inner === identity
        ? identity
        : (value) => (value === undefined || value === null ? value : inner(value))
    }
    case 'union': {
      const inner = def.options.map((option: z.core.$ZodType) =>
        compileConverter(option, direction),
      ) as ConvertValue[]
      if (inner.every((step) => step === identity)) return identity
      // Only objects among the members of a union have fields to convert.
      const object = inner.find((step) => step !== identity) as ConvertValue
      return (value) => (isPlainObject(value) ? object(value) : value)
    }
    case 'pipe':
      if (def.reverseTransform !== undefined) return direction.convertLeaf(def)
      return compileConverter(def.in, direction)
    default:
      return identity
  }
}

function compileObject(
  shape: Record<string, z.core.$ZodType>,
  direction: Direction,
  isLoose: boolean,
): ConvertValue {
  const fields = Object.entries(shape).map(
    ([key, schema]) => [...direction.keyPair(key), compileConverter(schema, direction)] as const,
  )
  const known = new Set(fields.map(([from]) => from))
  return (value) => {
    if (!isPlainObject(value)) return value
    const result: Record<string, unknown> = {}
    for (const [from, to, step] of fields) {
      const fieldValue = value[from]
      if (fieldValue !== undefined) result[to] = fieldValue === null ? null : step(fieldValue)
    }
    if (isLoose) for (const key of Object.keys(value)) if (!known.has(key)) result[key] = value[key]
    return result
  }
}

/** Creates the function that converts a record to its wire form. */
export const createEncoder = (schema: z.core.$ZodType): ConvertValue => compileConverter(schema, ENCODE)

/** Creates the function that converts a wire form to a record without validation. */
export const createReviver = (schema: z.core.$ZodType): ConvertValue => compileConverter(schema, REVIVE)

/** Converts between the wire form and the TypeScript form of a record, by its schema. */
export interface Codec<S extends z.ZodType> {
  /** The schema of the wire form. */
  readonly schema: S
  /** Returns the wire form of a record without validation, because records are created by this library. */
  encode(record: CamelCased<S>): z.input<S>
  /** Validates a wire form and returns the record. @throws ZodError */
  decode(wire: unknown): CamelCased<S>
  /** Like {@link decode}, with the error as result. */
  safeDecode(wire: unknown): { success: true; data: CamelCased<S> } | { success: false; error: z.ZodError }
}

/** Creates the codec of a schema. */
export function createCodec<S extends z.ZodType>(schema: S): Codec<S> {
  const encode = createEncoder(schema)
  const rename = compileConverter(schema, RENAME)
  return {
    schema,
    encode: (record) => encode(record) as z.input<S>,
    decode: (wire) => rename(schema.parse(wire)) as CamelCased<S>,
    safeDecode(wire) {
      const result = schema.safeParse(wire)
      return result.success
        ? { success: true, data: rename(result.data) as CamelCased<S> }
        : { success: false, error: result.error }
    },
  }
}
