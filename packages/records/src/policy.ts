import { BACKOFF_TYPES, JITTER_TYPES, NESTED_RETRIES } from 'holdfast/internal'
import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import {
  countOrInfinity,
  durationSeconds,
  nonNegativeIntegerField,
  positiveIntegerField,
} from './codec/record-fields.js'
import { type AnyPolicyField, POLICY_FIELDS, type PolicyFieldKind } from './policy-fields.js'

/** How delays grow from one retry to the next. */
export const backoffType = z.enum(BACKOFF_TYPES)

/** How delays are randomized. */
export const jitterType = z.enum(JITTER_TYPES)

/** Whether an error that a guard inside the call has retried is retried again. */
export const nestedRetries = z.enum(NESTED_RETRIES)

/** The schema of each kind of field in a record. */
const SCHEMA_BY_KIND = {
  text: () => z.string(),
  name: () => z.string(),
  flag: () => z.boolean(),
  attempts: countOrInfinity,
  duration: durationSeconds,
  positiveDuration: durationSeconds,
  timeout: durationSeconds,
  fraction: () => z.number().min(0).max(1),
  factor: () => z.number().min(1),
  number: () => z.number().min(0),
  count: positiveIntegerField,
  countFromZero: nonNegativeIntegerField,
  backoff: () => backoffType,
  jitter: () => jitterType,
  matchers: () => z.array(z.string()),
  statuses: () => z.array(z.int()),
  nested: () => nestedRetries,
} satisfies Record<PolicyFieldKind, () => z.ZodType>

type Kinds = typeof SCHEMA_BY_KIND

/** The schema of a field: that of its kind, or an object of the schemas of its parts. */
type ValueSchema<F> = F extends { readonly fields: infer Parts }
  ? z.ZodObject<RecordShape<Parts>>
  : F extends { readonly kind: infer Kind extends keyof Kinds }
    ? ReturnType<Kinds[Kind]>
    : never

type FieldSchema<F> = F extends { readonly nullable: true }
  ? z.ZodOptional<z.ZodNullable<ValueSchema<F>>>
  : F extends { readonly optional: true }
    ? z.ZodOptional<ValueSchema<F>>
    : ValueSchema<F>

type RecordShape<Fields> = { -readonly [Name in keyof Fields]: FieldSchema<Fields[Name]> }

function fieldSchema({ kind = 'text', fields, optional, nullable }: AnyPolicyField): z.ZodType {
  const schema = fields === undefined ? SCHEMA_BY_KIND[kind]() : z.object(recordShape(fields))
  return nullable ? schema.nullish() : optional ? schema.optional() : schema
}

const recordShape = <Fields extends { readonly [name: string]: AnyPolicyField }>(
  fields: Fields,
): RecordShape<Fields> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)]),
  ) as unknown as RecordShape<Fields>

/** The schema of a policy with all fields, in the wire format. */
export const policySchema = z.object({
  schema: z.string().optional().describe('The version of the record format.'),
  id: z.string().min(1).describe('The id of the policy.'),
  ...recordShape(POLICY_FIELDS),
})

/** A retry policy with all fields; durations are in milliseconds. */
export type RetryPolicy = CamelCased<typeof policySchema>

/** Some fields of a policy. An undefined field counts as absent. */
export type PolicyFields = { [Field in keyof RetryPolicy]?: RetryPolicy[Field] | undefined }

/** Converts a policy between the wire format and TypeScript. */
export const policyCodec = createCodec(policySchema)
