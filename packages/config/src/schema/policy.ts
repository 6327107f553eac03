import {
  backoffType,
  jitterType,
  nestedRetries,
  POLICY_FIELDS,
  type PolicyFieldKind,
} from '@holdfast/records'
import { z } from 'zod'
import {
  absentKey,
  anyString,
  atLeastOne,
  attemptCount,
  booleanValue,
  duration,
  enumOf,
  fraction,
  listOf,
  matcherName,
  nonEmptyString,
  nonNegativeInteger,
  nonNegativeNumber,
  nullableKey,
  optionalKey,
  positiveDuration,
  positiveInteger,
  requiredKey,
  retryableStatus,
  timeoutDuration,
} from './fields.js'

/** The schema of each kind of field in a config file, which also accepts durations with a unit. */
const SCHEMA_BY_KIND = {
  text: anyString,
  name: nonEmptyString,
  flag: booleanValue,
  attempts: attemptCount,
  duration,
  positiveDuration,
  timeout: timeoutDuration,
  fraction,
  factor: atLeastOne,
  number: nonNegativeNumber,
  count: positiveInteger,
  countFromZero: nonNegativeInteger,
  backoff: () => enumOf(backoffType),
  jitter: () => enumOf(jitterType),
  matchers: () => listOf(matcherName()),
  statuses: () => listOf(retryableStatus()),
  nested: () => enumOf(nestedRetries),
} satisfies Record<PolicyFieldKind, () => z.ZodType>

type Kinds = typeof SCHEMA_BY_KIND

type ValueSchema<F> = F extends { readonly fields: infer Parts }
  ? z.ZodObject<PartShape<Parts>, z.core.$strict>
  : F extends { readonly kind: infer Kind extends keyof Kinds }
    ? ReturnType<Kinds[Kind]>
    : never

/** In a part, a field is required unless it has a default or is optional. */
type PartShape<Fields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends
    | { readonly default: unknown }
    | { readonly optional: true }
    ? z.ZodOptional<ValueSchema<Fields[Name]>>
    : ValueSchema<Fields[Name]>
}

/** In a policy, every field is optional, because layers supply absent values. */
type EntryShape<Fields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends { readonly nullable: true }
    ? z.ZodOptional<z.ZodNullable<ValueSchema<Fields[Name]>>>
    : z.ZodOptional<ValueSchema<Fields[Name]>>
}

interface AnyField {
  readonly kind?: keyof Kinds
  readonly fields?: { readonly [name: string]: AnyField }
  readonly description: string
  readonly default?: unknown
  readonly absent?: string
  readonly optional?: true
  readonly nullable?: true
}

const mapFields = (fields: { readonly [name: string]: AnyField }, toSchema: (field: AnyField) => z.ZodType) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toSchema(field)]))

const valueSchema = ({ kind = 'text', fields }: AnyField): z.ZodType =>
  fields === undefined ? SCHEMA_BY_KIND[kind]() : z.strictObject(mapFields(fields, partSchema))

const partSchema = (field: AnyField): z.ZodType =>
  'default' in field || field.optional
    ? optionalSchema(field)
    : requiredKey(valueSchema(field), field.description)

const optionalSchema = (field: AnyField): z.ZodType =>
  field.absent === undefined
    ? optionalKey(valueSchema(field), field.description, field.default)
    : absentKey(valueSchema(field), field.description, field.absent)

const entrySchema = (field: AnyField): z.ZodType =>
  field.nullable ? nullableKey(valueSchema(field), field.description, field.absent) : optionalSchema(field)

/** Every field of a policy except its id. */
const policyShape = mapFields(POLICY_FIELDS, entrySchema) as unknown as EntryShape<typeof POLICY_FIELDS>

/** The defaults of all policies: any field except name and description. */
const { name: _, description: __, ...defaultFields } = policyShape
export const defaultsSchema = z.strictObject(defaultFields)

/** A policy in the config file. */
export const policyEntrySchema = z.strictObject({
  id: absentKey(nonEmptyString(), 'The id. It must equal its key.', 'the key'),
  ...policyShape,
})
