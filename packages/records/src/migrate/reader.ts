import { camelKey } from '../codec/case-codec.js'
import { tidySeconds } from '../codec/record-fields.js'
import { SCHEMA } from '../session.js'

/** A record of an earlier system, or a part of it. */
export type OldRecord = Record<string, unknown>

/** Whether a value is an object that can be a record. */
export const isOldRecord = (value: unknown): value is OldRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An ISO 8601 time without a time zone, as Python writes UTC times. */
const NO_TIME_ZONE_PATTERN = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/

/** Epoch seconds are below this number, epoch milliseconds above. */
const MIN_EPOCH_MS = 1e11

/** Converts a time in any known form to the form of the wire. Other values are returned, so that the schema rejects them. */
function toTimestamp(value: unknown): unknown {
  if (value === null || value === undefined) return value
  const time =
    typeof value === 'number'
      ? value < MIN_EPOCH_MS
        ? value * 1000
        : value
      : typeof value === 'string'
        ? Date.parse(NO_TIME_ZONE_PATTERN.test(value) ? `${value.replace(' ', 'T')}Z` : value)
        : Number.NaN
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : value
}

/** The values of `schema` in records of this library. An older record matches the current schema, so it keeps its value. */
const OWN_STAMP = /^1\.[1-9]\d?$/

/** Reads the fields of an old record under any of their names, and keeps track of the fields that were not read. */
export class OldRecordReader {
  private readonly raw: OldRecord
  private readonly readFields = new Set<string>()
  /** Records of this library in the TypeScript spelling have milliseconds; all other records have seconds. */
  private readonly scale: number

  /** The `schema` of a record that this library wrote; undefined for all others. */
  private readonly stamp: string | undefined

  constructor(raw: OldRecord, isInTypeScriptSpelling = false, scale?: number) {
    this.raw = raw
    this.stamp = typeof raw.schema === 'string' && OWN_STAMP.test(raw.schema) ? raw.schema : undefined
    this.scale = scale ?? (this.stamp !== undefined && isInTypeScriptSpelling ? 1000 : 1)
  }

  /** Whether this library wrote the record, in this version or another one. */
  get isOwn(): boolean {
    return this.stamp !== undefined
  }

  /** The `schema` of the converted record. */
  schema(): string {
    this.readFields.add('schema')
    return this.stamp ?? SCHEMA
  }

  /** The value of the first existing field of these names, in either spelling. */
  readField(...names: string[]): unknown {
    let found: unknown
    for (const name of names)
      for (const key of [name, camelKey(name)]) {
        this.readFields.add(key)
        if (found === undefined && Object.hasOwn(this.raw, key)) found = this.raw[key]
      }
    return found
  }

  /** The first of the named fields that is present, as a time of the wire format. */
  readTimestamp(...names: string[]): unknown {
    return toTimestamp(this.readField(...names))
  }

  /** The first of the named fields that is present, as a duration in seconds. */
  readSeconds(...names: string[]): unknown {
    const value = this.readField(...names)
    return typeof value === 'number' ? tidySeconds(value / this.scale) : value
  }

  /** An error that was written as an object or as a message. */
  readError(...names: string[]): unknown {
    const value = this.readField(...names)
    if (typeof value === 'string') {
      const named = /^([A-Z]\w*(?:Error|Exception|Timeout))\s*:\s*([\s\S]+)$/.exec(value)
      return { type: named?.[1] ?? 'Error', message: named?.[2] ?? value }
    }
    if (!isOldRecord(value)) return value
    const reader = new OldRecordReader(value, false, this.scale)
    return reader.withRemaining({
      type: reader.readField('type', 'error_type', 'name') ?? 'Error',
      message: reader.readField('message', 'error_message') ?? '',
      stack_trace: reader.readField('stack_trace', 'stack'),
    })
  }

  /** A reader of a record inside this one. */
  readNested(value: OldRecord): OldRecordReader {
    return new OldRecordReader(value, false, this.scale)
  }

  /** Returns these fields, without undefined ones, and all fields of the record that were not read. */
  withRemaining(fields: OldRecord): OldRecord {
    const result: OldRecord = {}
    for (const [key, value] of Object.entries(fields)) if (value !== undefined) result[key] = value
    for (const [key, value] of Object.entries(this.raw))
      if (!this.readFields.has(key) && !Object.hasOwn(result, key)) result[key] = value
    return result
  }
}
