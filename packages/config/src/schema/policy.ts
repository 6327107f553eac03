import {
  type AnyPolicyField,
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

type ConfigSchemas = typeof SCHEMA_BY_KIND

type ConfigValueSchema<F> = F extends { readonly fields: infer Parts }
  ? z.ZodObject<PartShape<Parts>, z.core.$strict>
  : F extends { readonly kind: infer Kind extends keyof ConfigSchemas }
    ? ReturnType<ConfigSchemas[Kind]>
    : never

/** In a part, a field is required unless it has a default or is optional. */
type PartShape<Fields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends
    | { readonly default: unknown }
    | { readonly optional: true }
    ? z.ZodOptional<ConfigValueSchema<Fields[Name]>>
    : ConfigValueSchema<Fields[Name]>
}

/** In a policy, every field is optional, because layers supply absent values. */
type EntryShape<Fields> = {
  -readonly [Name in keyof Fields]: Fields[Name] extends { readonly nullable: true }
    ? z.ZodOptional<z.ZodNullable<ConfigValueSchema<Fields[Name]>>>
    : z.ZodOptional<ConfigValueSchema<Fields[Name]>>
}

const mapFields = (
  fields: { readonly [name: string]: AnyPolicyField },
  toSchema: (field: AnyPolicyField) => z.ZodType,
) => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toSchema(field)]))

const valueSchema = ({ kind = 'text', fields }: AnyPolicyField): z.ZodType =>
  fields === undefined ? SCHEMA_BY_KIND[kind]() : z.strictObject(mapFields(fields, partSchema))

const partSchema = (field: AnyPolicyField): z.ZodType =>
  'default' in field || field.optional
    ? optionalSchema(field)
    : requiredKey(valueSchema(field), field.description)

const optionalSchema = (field: AnyPolicyField): z.ZodType =>
  field.absent === undefined
    ? optionalKey(valueSchema(field), field.description, field.default)
    : absentKey(valueSchema(field), field.description, field.absent)

const entrySchema = (field: AnyPolicyField): z.ZodType =>
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
