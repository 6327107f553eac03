import {
  POLICY_FIELDS,
  POLICY_GROUPS,
  type PolicyField,
  type PolicyFieldKind,
  type PolicyPart,
} from '@holdfast/records/policy-fields'
import { BACKOFF_TYPES, JITTER_TYPES, NESTED_RETRIES } from 'holdfast/internal'
import type { WirePolicy } from '../../api/types.js'

/** The kind of input of a field. */
type InputKind = 'text' | 'breaker' | 'number' | 'seconds' | 'list' | 'codes' | 'flag' | readonly string[]

const INPUT_KINDS: Readonly<Record<PolicyFieldKind, InputKind>> = {
  text: 'text',
  name: 'breaker',
  flag: 'flag',
  attempts: 'number',
  duration: 'seconds',
  positiveDuration: 'seconds',
  timeout: 'seconds',
  fraction: 'number',
  factor: 'number',
  number: 'number',
  count: 'number',
  countFromZero: 'number',
  backoff: BACKOFF_TYPES,
  jitter: JITTER_TYPES,
  matchers: 'list',
  statuses: 'codes',
  nested: NESTED_RETRIES,
}

type PartName = {
  [Name in keyof typeof POLICY_FIELDS]: (typeof POLICY_FIELDS)[Name] extends PolicyPart ? Name : never
}[keyof typeof POLICY_FIELDS]

/** A field of a policy, or of one of its nested objects. */
export type FieldName = keyof WirePolicy | `${PartName}.${string}`

export interface FormField {
  readonly name: FieldName
  readonly label: string
  readonly kind: InputKind
  /** The meaning of the field. */
  readonly help: string
  /** The value of an empty field where the nested object exists. */
  readonly defaultValue?: number
}

/** A field with its group. */
type GroupedField = FormField & { readonly group: string }

function toField(name: string, { kind, label, group, description }: PolicyField): GroupedField {
  const input = INPUT_KINDS[kind]
  return {
    name: name as FieldName,
    label: input === 'seconds' ? `${label} (s)` : label,
    kind: input,
    // Descriptions are Markdown in the references.
    help: description.replaceAll('`', ''),
    group,
  }
}

/** A field of a nested object. Its default applies where other fields of the object are filled in. */
function toPartField(name: string, field: PolicyField): GroupedField {
  const result = toField(name, field)
  const { default: value } = field
  if (typeof value !== 'number') return result
  return { ...result, defaultValue: result.kind === 'seconds' ? value / 1000 : value }
}

const ENTRIES = Object.entries(POLICY_FIELDS as { readonly [name: string]: PolicyField | PolicyPart })

/** Fields that are nested objects. */
export const PARTS = ENTRIES.flatMap(([name, field]) => ('fields' in field ? [name as PartName] : []))

const ALL_FIELDS = ENTRIES.flatMap(([name, field]) =>
  'fields' in field
    ? Object.entries(field.fields).map(([key, part]) => toPartField(`${name}.${key}`, part))
    : [toField(name, field)],
)

/** The fields of the form by group. */
export const GROUPS: readonly (readonly [title: string, fields: readonly FormField[]])[] = POLICY_GROUPS.map(
  (title) => [title, ALL_FIELDS.filter(({ group }) => group === title)],
)

export const FIELDS: readonly FormField[] = GROUPS.flatMap(([, fields]) => fields)

/** The label of a field; the name itself for another name. */
export const labelOf = (name: string): string => FIELDS.find((field) => field.name === name)?.label ?? name

/** Fields that are durations. */
export const DURATIONS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ kind }) => kind === 'seconds').map(({ name }) => name),
)

/** Splits the name of a field into its nested object, if any, and its key. */
export const splitName = (name: string): readonly [part: string | undefined, key: string] => {
  const dot = name.indexOf('.')
  return dot < 0 ? [undefined, name] : [name.slice(0, dot), name.slice(dot + 1)]
}
