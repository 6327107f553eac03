import { parseDuration } from 'holdfast/internal'
import type { Policy } from '../../api/types.js'
import { words } from '../../format.js'
import { FIELDS, type Field, type Name, PARTS, split } from './fields.js'

/** A policy as it stands in the form: text, or yes and no. */
export type Draft = Readonly<Record<string, string | boolean>>

/** How a list without anything is written, which is not the same as no list. */
const EMPTY = '[]'

function written(value: unknown): string | boolean {
  if (typeof value === 'boolean') return value
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.length === 0 ? EMPTY : value.join(', ')
  return String(value as string | number)
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function valueOf(policy: Partial<Policy>, name: Name): unknown {
  const [part, key] = split(name)
  const whole = record(policy)
  return (part === undefined ? whole : record(whole[part]))[key]
}

/** A policy as the form shows it. */
export const draftOf = (policy: Partial<Policy>): Draft =>
  Object.fromEntries(
    FIELDS.map(({ name, kind }) => {
      const value = valueOf(policy, name)
      return [name, kind === 'flag' ? value === true : written(value)]
    }),
  )

/** What cannot be read stays as it was written, for the server to say what is wrong with it. */
const number = (text: string): unknown => {
  const read = Number(text)
  return text === '' ? null : text === 'Infinity' || Number.isNaN(read) ? text : read
}

/** A time with its unit, as files have it; the API takes seconds. */
const SPOKEN = /^\d+(\.\d+)?(ms|s|m|h|d)$/

/** What a field of the form means on the wire: null where it is left empty. */
export function meaning({ kind }: Field, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  const text = value.trim()
  if (kind === 'number') return number(text)
  if (kind === 'seconds') return SPOKEN.test(text) ? parseDuration(text) / 1000 : number(text)
  if (kind !== 'list' && kind !== 'codes') return text === '' ? null : text
  if (text === EMPTY) return []
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (parts.length === 0) return null
  return kind === 'codes' ? parts.map(number) : parts
}

/** What the fields of one part mean together: null where nothing is written in any of them. */
function partOf(part: string, draft: Draft): Record<string, unknown> | null {
  const said = FIELDS.filter(({ name }) => split(name)[0] === part).map(
    (field) => [field, meaning(field, draft[field.name] ?? '')] as const,
  )
  if (said.every(([, value]) => value === null || value === false)) return null
  return Object.fromEntries(
    said
      .map(([{ name, otherwise }, value]) => [split(name)[1], value ?? otherwise] as const)
      .filter(([, value]) => value !== undefined && value !== false),
  )
}

/**
 * The whole policy that a form means. What the policy has and the form leaves empty is null: left out, it would come
 * from the file again.
 */
export function policyOf(policy: Partial<Policy>, draft: Draft): Record<string, unknown> {
  const { schema: _, id: __, ...rest } = policy
  const own = FIELDS.filter(({ name }) => split(name)[0] === undefined).map(
    (field) => [field.name, meaning(field, draft[field.name] ?? '')] as const,
  )
  const parts = PARTS.map((part) => [part, partOf(part, draft)] as const)
  const had = record(policy)
  return Object.fromEntries(
    [...Object.entries(rest), ...own, ...parts].filter(
      ([name, value]) => value !== undefined && (value !== null || had[name] != null),
    ),
  )
}

/** The field that the server's path within a policy is about: the policy itself where it is about none. */
export const fieldAt = (path: string): string => {
  const [first = '', second = ''] = path.split(/[.[]/)
  return [`${first}.${second}`, first].find((name) => FIELDS.some((field) => field.name === name)) ?? ''
}

/** `budget.reserve_per_second` as `budget reserve per second`. */
export const said = (name: string): string => words(name.replace('.', ' '))

/** A field before and after. */
export interface Difference {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** A record with the fields of its parts beside its own. */
const flat = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).map(([key, inner]) => [`${name}.${key}`, inner] as const)
        : [[name, value] as const],
    ),
  )

/** What differs between two records, in the order of the fields. */
export function differences(before: Record<string, unknown>, after: Record<string, unknown>): Difference[] {
  const [was, is] = [flat(before), flat(after)]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return names
    .filter((name) => JSON.stringify(was[name] ?? null) !== JSON.stringify(is[name] ?? null))
    .map((name) => ({ name, before: was[name], after: is[name] }))
}
