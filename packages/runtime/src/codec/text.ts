import type { z } from 'zod'
import { camelKey, encoder, reviver, type Twin } from './twin.js'

type Step = (value: unknown) => unknown

/** What a text may hold that its quotes do not keep as it is. */
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const ODD = /["\\\u0000-\u001f\ud800-\udfff]/

/** JSON of a value that is no object; undefined for what JSON leaves out. */
function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return ODD.test(value) ? JSON.stringify(value) : `"${value}"`
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  return JSON.stringify(value)
}

/** JSON of one of a few words of ours, in which there is nothing odd to look for. */
const word = (value: unknown): string | undefined =>
  typeof value === 'string' ? `"${value}"` : JSON.stringify(value)

/** The source of functions that write JSON, one for each object and list of a schema, and the steps that they take. */
class Source {
  readonly steps: Step[] = []
  readonly functions: string[] = []

  /** An expression for the JSON of what another expression stands for, which is neither null nor undefined. */
  expression(schema: z.core.$ZodType, value: string): string {
    // oxlint-disable-next-line no-explicit-any -- the definitions of zod's kinds share no type that says what each holds
    const def = (schema as any)._zod.def
    switch (def.type as string) {
      case 'object':
        if (def.catchall === undefined) return `${this.object(def.shape)}(${value})`
        break
      case 'array':
        return `list(${value}, (item) => ${this.expression(def.element, 'item')})`
      case 'optional':
      case 'nullable':
        return this.expression(def.innerType, value)
      case 'pipe':
        if (def.reverseTransform !== undefined) {
          const write = def.in._zod.def.format === 'datetime' ? 'word' : 'scalar'
          return `${write}(steps[${this.steps.push(def.reverseTransform as Step) - 1}](${value}))`
        }
        break
      case 'string':
      case 'number':
      case 'boolean':
        return `scalar(${value})`
      case 'enum':
      case 'literal':
        return `word(${value})`
    }
    return `JSON.stringify(steps[${this.steps.push(encoder(schema)) - 1}](${value}))`
  }

  /** The name of a function for objects. */
  private object(shape: Record<string, z.core.$ZodType>): string {
    const fields = Object.entries(shape).map(([key, schema], i) => {
      const name = JSON.stringify(`"${key}":`)
      // Whether a field comes first shows only when the record is written.
      const prefix = i === 0 ? name : `(text === '' ? ${name} : ${JSON.stringify(`,"${key}":`)})`
      return `held = record[${JSON.stringify(camelKey(key))}]
        if (held !== undefined) {
          written = held === null ? 'null' : ${this.expression(schema, 'held')}
          if (written !== undefined) text += ${prefix} + written
        }`
    })
    const name = `write${this.functions.length}`
    this.functions.push(`function ${name}(record) {
      let text = '', held, written
      ${fields.join('\n')}
      return '{' + text + '}'
    }`)
    return name
  }
}

const list = (items: unknown, write: (item: unknown) => string | undefined): string | undefined =>
  Array.isArray(items)
    ? `[${items.map((item) => (item == null ? 'null' : (write(item) ?? 'null'))).join(',')}]`
    : JSON.stringify(items)

/**
 * Makes the function that writes records of a schema as JSON in their wire form: the same as `JSON.stringify` of what
 * `encode` gives, at a third of the cost, which is most of what it costs to keep a record. It is put together as source, as
 * zod does it for its own; where that is not allowed, it is done the slow way.
 */
function writer(schema: z.core.$ZodType): (record: unknown) => string {
  const source = new Source()
  const result = source.expression(schema, 'record')
  const encode = encoder(schema)
  try {
    // oxlint-disable-next-line no-implied-eval -- of nothing but the names of a schema's own fields
    const make = new Function(
      'steps',
      'scalar',
      'word',
      'list',
      `${source.functions.join('\n')}\nreturn (record) => ${result}`,
    )
    return make(source.steps, scalar, word, list)
  } catch {
    return (record) => JSON.stringify(encode(record))
  }
}

/** Records of a schema as the text that stores keep, and back. */
export interface TextCodec<S extends z.ZodType> {
  /** The wire form as JSON. Nothing is checked: it is ours. */
  write(record: Twin<S>): string
  /** The record of a wire form that `write` made, unchecked for the same reason. */
  revive(wire: unknown): Twin<S>
}

/** Makes the codec that brings records of a schema to a store and back. */
export function textCodec<S extends z.ZodType>(schema: S): TextCodec<S> {
  const write = writer(schema)
  const revive = reviver(schema)
  return { write, revive: (wire) => revive(wire) as Twin<S> }
}
