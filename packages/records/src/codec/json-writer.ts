import type { z } from 'zod'
import { type CamelCased, type ConvertValue, camelKey, createEncoder, createReviver } from './case-codec.js'

/** Characters that JSON escapes, and surrogates, which may be lone. */
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const NEEDS_ESCAPE_PATTERN = /["\\\u0000-\u001f\ud800-\udfff]/

/** The JSON of a value that is not an object; undefined for values that JSON omits. */
function writeScalar(value: unknown): string | undefined {
  if (typeof value === 'string')
    return NEEDS_ESCAPE_PATTERN.test(value) ? JSON.stringify(value) : `"${value}"`
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  return JSON.stringify(value)
}

/** The JSON of a known word, which contains nothing to escape. */
const writeWord = (value: unknown): string | undefined =>
  typeof value === 'string' ? `"${value}"` : JSON.stringify(value)

/** The definition of a schema without `optional` and `nullable`. */
function wireTypeOf(schema: z.core.$ZodType): { type: string; [more: string]: unknown } {
  // oxlint-disable-next-line no-explicit-any -- the definitions of zod types have no common type with their fields
  const def = (schema as any)._zod.def
  return def.type === 'optional' || def.type === 'nullable' ? wireTypeOf(def.innerType) : def
}

/** Generates the source of functions that write JSON, one per object of a schema, and the conversions that they use. */
class WriterSource {
  readonly steps: ConvertValue[] = []
  readonly functions: string[] = []
  private memoCount = 0

  /** An expression for the JSON of the value of another expression, which is neither null nor undefined. */
  expression(schema: z.core.$ZodType, value: string): string {
    // oxlint-disable-next-line no-explicit-any -- as above
    const def: any = wireTypeOf(schema)
    switch (def.type as string) {
      case 'object':
        if (def.catchall === undefined) return `${this.objectWriter(def.shape)}(${value})`
        break
      case 'array':
        return `list(${value}, (item) => ${this.expression(def.element, 'item')})`
      case 'pipe':
        if (def.reverseTransform !== undefined) {
          const write = def.in._zod.def.format === 'datetime' ? 'word' : 'scalar'
          return `${write}(steps[${this.steps.push(def.reverseTransform as ConvertValue) - 1}](${value}))`
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
    return `JSON.stringify(steps[${this.steps.push(createEncoder(schema)) - 1}](${value}))`
  }

  /** The source of a function that creates delta writers. A delta writer writes the fields that differ from the previous record. */
  deltaWriter(shape: Record<string, z.core.$ZodType>): string {
    const fields = Object.entries(shape).map(([key, schema], i) => {
      const name = JSON.stringify(key)
      return {
        state: `last${i}, part${i} = ''`,
        step: `held = record[${JSON.stringify(camelKey(key))}]
          if (held !== last${i} || typeof held === 'object') {
            last${i} = held
            part = held === undefined ? '' : named(${JSON.stringify(`,"${key}":`)}, ${this.writtenBy(schema)})
            if (part !== part${i}) {
              part${i} = part
              if (part === '') gone += gone === '' ? ${JSON.stringify(name)} : ',' + ${JSON.stringify(name)}
              else text += text === '' ? part.slice(1) : part
            }
          }`,
      }
    })
    return `function changes() {
      let ${fields.map(({ state }) => state).join(', ')}
      return (record) => {
        let text = '', gone = '', held, part
        ${fields.map(({ step }) => step).join('\n')}
        if (gone !== '') text += (text === '' ? '' : ',') + '"-":[' + gone + ']'
        return '{' + text + '}'
      }
    }`
  }

  private writtenBy(schema: z.core.$ZodType): string {
    return `held === null ? 'null' : ${this.expression(schema, 'held')}`
  }

  /** Generates a function for objects and returns its name. */
  private objectWriter(shape: Record<string, z.core.$ZodType>): string {
    const fields = Object.entries(shape).map(([key, schema]) => this.fieldWriter(key, schema))
    const name = `write${this.functions.length}`
    this.functions.push(`function ${name}(record) {
      let text = '', held, part
      ${fields.join('\n')}
      return '{' + text + '}'
    }`)
    return name
  }

  /** The statements that append a field to the text of its object. */
  private fieldWriter(key: string, schema: z.core.$ZodType): string {
    const add = `if (part !== '') text += text === '' ? part.slice(1) : part`
    const from = `held = record[${JSON.stringify(camelKey(key))}]`
    const make = `part = named(${JSON.stringify(`,"${key}":`)}, ${this.writtenBy(schema)})`
    if (!SCALAR_TYPES.has(wireTypeOf(schema).type))
      return `${from}\nif (held !== undefined) { ${make}\n${add} }`
    // The JSON of the last value is reused, because consecutive records have mostly the same values.
    const [last, memo] = [`last${this.memoCount}`, `memo${this.memoCount++}`]
    this.functions.push(`let ${last}, ${memo} = ''`)
    return `${from}
      if (held !== undefined) {
        if (held === ${last}) part = ${memo}
        else {
          ${make}
          if (typeof held !== 'object') { ${last} = held; ${memo} = part }
        }
        ${add}
      }`
  }
}

/** Types whose values are scalars or times. */
const SCALAR_TYPES = new Set(['string', 'number', 'boolean', 'enum', 'literal', 'pipe'])

/** A field with its name; empty if JSON omits the value. */
const writeNamed = (name: string, written: string | undefined): string =>
  written === undefined ? '' : name + written

function writeList(items: unknown, write: (item: unknown) => string | undefined): string | undefined {
  if (!Array.isArray(items)) return JSON.stringify(items)
  let text = ''
  for (const item of items)
    text += (text === '' ? '' : ',') + (item == null ? 'null' : (write(item) ?? 'null'))
  return `[${text}]`
}

interface RecordWriters {
  write(record: unknown): string
  changes(): (record: unknown) => string
}

/**
 * Creates the functions that write records of a schema as JSON in their wire form. The result is that of `JSON.stringify` after
 * `encode`, at a third of the cost, which is most of the cost of storing a record. They are compiled from source, as zod compiles
 * its own; where that is not allowed, `JSON.stringify` is used.
 */
function createWriters(schema: z.ZodObject): RecordWriters {
  const source = new WriterSource()
  const write = source.expression(schema, 'record')
  const changes = source.deltaWriter(schema.shape)
  const encode = createEncoder(schema)
  try {
    // oxlint-disable-next-line no-implied-eval -- the source contains only field names of a schema
    const make = new Function(
      'steps',
      'scalar',
      'word',
      'list',
      'named',
      `${source.functions.join('\n')}\n${changes}\nreturn { write: (record) => ${write}, changes }`,
    )
    return make(source.steps, writeScalar, writeWord, writeList, writeNamed)
  } catch {
    return {
      write: (record) => JSON.stringify(encode(record)),
      changes: () => createPlainDeltaWriter(encode),
    }
  }
}

/** A delta writer without compiled code. It writes all fields, and the names of those that the previous record had in addition. */
function createPlainDeltaWriter(encode: ConvertValue): (record: unknown) => string {
  let previous: object = {}
  return (record) => {
    const wire = JSON.parse(JSON.stringify(encode(record))) as object
    const removed = Object.keys(previous).filter((key) => !Object.hasOwn(wire, key))
    previous = wire
    return JSON.stringify(removed.length === 0 ? wire : { ...wire, [REMOVED_KEYS]: removed })
  }
}

/** The key for the names of the fields that the previous record had and this one does not have. */
const REMOVED_KEYS = '-'

/** The wire forms of records that were written as deltas. They share no objects. */
export function expandDeltas(deltas: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  let previous: Record<string, unknown> = {}
  return deltas.map(({ [REMOVED_KEYS]: removed = [], ...wire }) => {
    for (const [key, value] of Object.entries(previous))
      if (!Object.hasOwn(wire, key) && !(removed as string[]).includes(key)) wire[key] = copyValue(value)
    previous = wire
    return wire
  })
}

const copyValue = <T>(value: T): T =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value

/** Converts records of a schema to the text that stores keep, and back. */
export interface TextCodec<S extends z.ZodType> {
  /** Returns the wire form as JSON, without validation. */
  write(record: CamelCased<S>): string
  /** Creates a function that writes each record as the difference from the previous one. It must not be used after it threw. */
  deltaWriter(): (record: CamelCased<S>) => string
  /** Returns the record of a wire form that `write` created, without validation. */
  revive(wire: unknown): CamelCased<S>
}

/** Creates the text codec of a schema. */
export function createTextCodec<S extends z.ZodObject>(schema: S): TextCodec<S> {
  const { write, changes } = createWriters(schema)
  const revive = createReviver(schema)
  return { write, deltaWriter: changes, revive: (wire) => revive(wire) as CamelCased<S> }
}
