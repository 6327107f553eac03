import { z } from 'zod'

type CamelKey<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : S

/** A wire record's twin: the same with camelCase keys. What a record or an unknown holds is left as it is. */
type Camel<T> = T extends Date | string
  ? T
  : T extends readonly (infer Item)[]
    ? Camel<Item>[]
    : T extends object
      ? { [K in keyof T as K extends string ? CamelKey<K> : K]: Camel<T[K]> }
      : T

/** The TypeScript form of what a schema describes on the wire. */
export type Twin<S extends z.ZodType> = Camel<z.output<S>>

/** `max_attempts` as `maxAttempts`. */
export const camelKey = (key: string): string =>
  key.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** `maxAttempts` as `max_attempts`. */
export const snakeKey = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

type Step = (value: unknown) => unknown

interface Way {
  /** Brings one leaf over. */
  leaf(def: { transform: Step; reverseTransform: Step }): Step
  /** The key to read, and the key to write, for a key of the schema. */
  keys(key: string): readonly [from: string, to: string]
}

const ENCODE: Way = {
  leaf: ({ reverseTransform }) => reverseTransform,
  keys: (key) => [camelKey(key), key],
}
const RENAME: Way = { leaf: () => same, keys: (key) => [key, camelKey(key)] }
const REVIVE: Way = { leaf: ({ transform }) => transform, keys: RENAME.keys }

const same: Step = (value) => value

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Makes the function that brings values of a schema over, once, so that records pay for nothing but their fields. */
function compile(schema: z.core.$ZodType, way: Way): Step {
  // oxlint-disable-next-line no-explicit-any -- the definitions of zod's kinds share no type that says what each holds
  const def = (schema as any)._zod.def
  switch (def.type as string) {
    case 'object':
      return ofObject(def.shape, way, def.catchall?._zod.def.type === 'unknown')
    case 'array': {
      const item = compile(def.element, way)
      return (value) => (item !== same && Array.isArray(value) ? value.map(item) : value)
    }
    case 'record': {
      const inner = compile(def.valueType, way)
      if (inner === same) return same
      return (value) =>
        isPlain(value)
          ? Object.fromEntries(Object.entries(value).map(([key, held]) => [key, inner(held)]))
          : value
    }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly': {
      const inner = compile(def.innerType, way)
      return inner === same ? same : (value) => (value === undefined || value === null ? value : inner(value))
    }
    case 'union': {
      const inner = def.options.map((option: z.core.$ZodType) => compile(option, way)) as Step[]
      if (inner.every((step) => step === same)) return same
      // Only objects among the members of a union have fields to bring over.
      const object = inner.find((step) => step !== same) as Step
      return (value) => (isPlain(value) ? object(value) : value)
    }
    case 'pipe':
      if (def.reverseTransform !== undefined) return way.leaf(def)
      return compile(def.in, way)
    default:
      return same
  }
}

function ofObject(shape: Record<string, z.core.$ZodType>, way: Way, loose: boolean): Step {
  const fields = Object.entries(shape).map(
    ([key, schema]) => [...way.keys(key), compile(schema, way)] as const,
  )
  const known = new Set(fields.map(([from]) => from))
  return (value) => {
    if (!isPlain(value)) return value
    const result: Record<string, unknown> = {}
    for (const [from, to, step] of fields) {
      const held = value[from]
      if (held !== undefined) result[to] = held === null ? null : step(held)
    }
    if (loose) for (const key of Object.keys(value)) if (!known.has(key)) result[key] = value[key]
    return result
  }
}

/** Makes the function that gives the wire form of what a schema describes. */
export const encoder = (schema: z.core.$ZodType): Step => compile(schema, ENCODE)

/** Makes the function that gives the record of a wire form without checking it. */
export const reviver = (schema: z.core.$ZodType): Step => compile(schema, REVIVE)

/** Both directions between a record's two spellings, made from its one schema. */
export interface Codec<S extends z.ZodType> {
  readonly schema: S
  /** The wire form of a record. Nothing is checked: it is ours. */
  encode(record: Twin<S>): z.input<S>
  /** The record of a wire form, checked. @throws ZodError */
  decode(wire: unknown): Twin<S>
  /** The same, without the throw. */
  safeDecode(wire: unknown): { success: true; data: Twin<S> } | { success: false; error: z.ZodError }
}

/** Makes the codec of a schema. */
export function codec<S extends z.ZodType>(schema: S): Codec<S> {
  const encode = encoder(schema)
  const rename = compile(schema, RENAME)
  return {
    schema,
    encode: (record) => encode(record) as z.input<S>,
    decode: (wire) => rename(schema.parse(wire)) as Twin<S>,
    safeDecode(wire) {
      const result = schema.safeParse(wire)
      return result.success
        ? { success: true, data: rename(result.data) as Twin<S> }
        : { success: false, error: result.error }
    },
  }
}
