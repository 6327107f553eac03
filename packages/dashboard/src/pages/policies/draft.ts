import { DURATION_PATTERN, parseDuration } from 'holdfast/internal'
import type { WirePolicy } from '../../api/types.js'
import { FIELDS, type FieldName, type FormField, PARTS, splitName } from './fields.js'

/** The values of the form: strings, and booleans for switches. */
export type PolicyDraft = Readonly<Record<string, string | boolean>>

/** The notation of an empty list, which differs from no list. */
const EMPTY_LIST = '[]'

function toFormValue(value: unknown): string | boolean {
  if (typeof value === 'boolean') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.length === 0 ? EMPTY_LIST : value.join(', ')
  return String(value as string | number)
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function fieldValue(policy: Partial<WirePolicy>, name: FieldName): unknown {
  const [part, key] = splitName(name)
  const whole = asRecord(policy)
  return (part === undefined ? whole : asRecord(whole[part]))[key]
}

/** The form values of a policy. */
export const toDraft = (policy: Partial<WirePolicy>): PolicyDraft =>
  Object.fromEntries(
    FIELDS.map(({ name, kind }) => {
      const value = fieldValue(policy, name)
      return [name, kind === 'flag' ? value === true : toFormValue(value)]
    }),
  )

/** A text that is not a number is kept, so that the server reports the problem. */
const parseNumber = (text: string): unknown => {
  const read = Number(text)
  return text === '' ? null : text === 'Infinity' || Number.isNaN(read) ? text : read
}

/** The wire value of a form field: null where it is empty. */
export function parseField({ kind }: FormField, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  const text = value.trim()
  if (kind === 'number') return parseNumber(text)
  // A duration can have a unit, as in config files. The API expects seconds.
  if (kind === 'seconds') return DURATION_PATTERN.test(text) ? parseDuration(text) / 1000 : parseNumber(text)
  if (kind !== 'list' && kind !== 'codes') return text === '' ? null : text
  if (text === EMPTY_LIST) return []
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (parts.length === 0) return null
  return kind === 'codes' ? parts.map(parseNumber) : parts
}

/** The wire value of a nested object: null where all its fields are empty. */
function parsePart(part: string, draft: PolicyDraft): Record<string, unknown> | null {
  const values = FIELDS.filter(({ name }) => splitName(name)[0] === part).map(
    (field) => [field, parseField(field, draft[field.name] ?? '')] as const,
  )
  if (values.every(([, value]) => value === null || value === false)) return null
  return Object.fromEntries(
    values
      .map(([{ name, defaultValue }, value]) => [splitName(name)[1], value ?? defaultValue] as const)
      .filter(([, value]) => value !== undefined && value !== false),
  )
}

/**
 * The complete policy of a form. A field that the policy has and that is empty in the form is null: without it, the value
 * would come from the file again.
 */
export function toPolicy(policy: Partial<WirePolicy>, draft: PolicyDraft): Record<string, unknown> {
  const { schema: _, id: __, ...rest } = policy
  const own = FIELDS.filter(({ name }) => splitName(name)[0] === undefined).map(
    (field) => [field.name, parseField(field, draft[field.name] ?? '')] as const,
  )
  const parts = PARTS.map((part) => [part, parsePart(part, draft)] as const)
  const previous = asRecord(policy)
  return Object.fromEntries(
    [...Object.entries(rest), ...own, ...parts].filter(
      ([name, value]) => value !== undefined && (value !== null || previous[name] != null),
    ),
  )
}

/** The form field of a path within a policy; empty where the path belongs to no field. */
export const fieldOfPath = (path: string): string => {
  const [first = '', second = ''] = path.split(/[.[]/)
  return [`${first}.${second}`, first].find((name) => FIELDS.some((field) => field.name === name)) ?? ''
}

/** A field before and after. */
export interface FieldDifference {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** Flattens the nested objects of a record. */
const flattenRecord = (input: Record<string, unknown>, path = ''): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(flattenRecord(value as Record<string, unknown>, `${path}${name}.`))
        : [[path + name, value] as const],
    ),
  )

/** The differences of two records, in the order of their fields. */
export function diffRecords(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): FieldDifference[] {
  const [was, is] = [flattenRecord(before), flattenRecord(after)]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return names
    .filter((name) => JSON.stringify(was[name] ?? null) !== JSON.stringify(is[name] ?? null))
    .map((name) => ({ name, before: was[name], after: is[name] }))
}
