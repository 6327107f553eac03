import type { z } from 'zod'
import { type CamelCased, camelKey, createEncoder, createReviver } from './case-codec.js'

type ConvertValue = (value: unknown) => unknown

/** What a text may hold that its quotes do not keep as it is. */
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const NEEDS_ESCAPE_PATTERN = /["\\\u0000-\u001f\ud800-\udfff]/

/** JSON of a value that is no object; undefined for what JSON leaves out. */
function writeScalar(value: unknown): string | undefined {
  if (typeof value === 'string')
    return NEEDS_ESCAPE_PATTERN.test(value) ? JSON.stringify(value) : `"${value}"`
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  return JSON.stringify(value)
}

/** JSON of one of a few words of ours, in which there is nothing odd to look for. */
const writeWord = (value: unknown): string | undefined =>
  typeof value === 'string' ? `"${value}"` : JSON.stringify(value)

/** What a schema's values are on the wire, beneath what may be missing. */
function wireTypeOf(schema: z.core.$ZodType): { type: string; [more: string]: unknown } {
  // oxlint-disable-next-line no-explicit-any -- the definitions of zod's kinds share no type that says what each holds
  const def = (schema as any)._zod.def
  return def.type === 'optional' || def.type === 'nullable' ? wireTypeOf(def.innerType) : def
}

/** The source of functions that write JSON, one for each object and list of a schema, and the steps that they take. */
class WriterSource {
  readonly steps: ConvertValue[] = []
  readonly functions: string[] = []
  private memoCount = 0

  /** An expression for the JSON of what another expression stands for, which is neither null nor undefined. */
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

  /** The source of a function that makes others, each of which writes what a record has otherwise than the one before. */
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

  /** The name of a function for objects. */
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

  /** Statements that add a field to the text of its object. */
  private fieldWriter(key: string, schema: z.core.$ZodType): string {
    const add = `if (part !== '') text += text === '' ? part.slice(1) : part`
    const from = `held = record[${JSON.stringify(camelKey(key))}]`
    const make = `part = named(${JSON.stringify(`,"${key}":`)}, ${this.writtenBy(schema)})`
    if (!SCALAR_TYPES.has(wireTypeOf(schema).type))
      return `${from}\nif (held !== undefined) { ${make}\n${add} }`
    // Records come in bursts, and most of what one says the last one said as well.
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

/** Kinds whose values are no objects, or times. */
const SCALAR_TYPES = new Set(['string', 'number', 'boolean', 'enum', 'literal', 'pipe'])

/** A field with its name; nothing where JSON leaves it out. */
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
 * Makes the functions that write records of a schema as JSON in their wire form: the same as `JSON.stringify` of what
 * `encode` gives, at a third of the cost, which is most of what it costs to keep a record. They are put together as source, as
 * zod does it for its own; where that is not allowed, it is done the slow way.
 */
function createWriters(schema: z.ZodObject): RecordWriters {
  const source = new WriterSource()
  const write = source.expression(schema, 'record')
  const changes = source.deltaWriter(schema.shape)
  const encode = createEncoder(schema)
  try {
    // oxlint-disable-next-line no-implied-eval -- of nothing but the names of a schema's own fields
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

/** Everything a record has, and what the one before had besides. */
function createPlainDeltaWriter(encode: ConvertValue): (record: unknown) => string {
  let previous: object = {}
  return (record) => {
    const wire = JSON.parse(JSON.stringify(encode(record))) as object
    const removed = Object.keys(previous).filter((key) => !Object.hasOwn(wire, key))
    previous = wire
    return JSON.stringify(removed.length === 0 ? wire : { ...wire, [REMOVED_KEYS]: removed })
  }
}

/** What stands for the names of the fields that the record before had and this one has not. */
const REMOVED_KEYS = '-'

/** The wire forms of records of which each was written as what it has otherwise than the one before. None shares anything. */
export function expandDeltas(changes: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  let previous: Record<string, unknown> = {}
  return changes.map(({ [REMOVED_KEYS]: removed = [], ...wire }) => {
    for (const [key, value] of Object.entries(previous))
      if (!Object.hasOwn(wire, key) && !(removed as string[]).includes(key)) wire[key] = copyValue(value)
    previous = wire
    return wire
  })
}

const copyValue = <T>(value: T): T =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value

/** Records of a schema as the text that stores keep, and back. */
export interface TextCodec<S extends z.ZodType> {
  /** The wire form as JSON. Nothing is checked: it is ours. */
  write(record: CamelCased<S>): string
  /** Makes a function that writes one record after the other, each as what it has otherwise than the one before, until it throws. */
  deltaWriter(): (record: CamelCased<S>) => string
  /** The record of a wire form that `write` made, unchecked for the same reason. */
  revive(wire: unknown): CamelCased<S>
}

/** Makes the codec that brings records of a schema to a store and back. */
export function createTextCodec<S extends z.ZodObject>(schema: S): TextCodec<S> {
  const { write, changes } = createWriters(schema)
  const revive = createReviver(schema)
  return { write, deltaWriter: changes, revive: (wire) => revive(wire) as CamelCased<S> }
}
