import fc from 'fast-check'

/** A schema as OpenAPI writes it, as far as ours use it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
}

export type Schemas = Record<string, Schema>

const RARE = fc.constantFrom('a', 'quick', 'p1', 'policy:guarded', '../x', 'ü', '%', 'x y', '0', '-1', 'null')

/** Values that a schema describes. */
export function valuesOf(schema: Schema, all: Schemas): fc.Arbitrary<unknown> {
  const { $ref, type, anyOf } = schema
  if ($ref !== undefined) return valuesOf(all[$ref.split('/').at(-1) as string] as Schema, all)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => valuesOf(one, all)))
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valuesOf({ ...schema, type: one }, all)))
  const least = schema.minimum ?? schema.exclusiveMinimum ?? -1000
  switch (type ?? 'anything') {
    case 'string':
      if (schema.format === 'date-time')
        return fc
          .date({ min: new Date(0), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
          .map((date) => date.toISOString())
      return fc
        .oneof(
          RARE,
          fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 20, 20) }),
        )
        .filter((text) => text.length >= (schema.minLength ?? 0))
    case 'integer':
      return fc.integer({ min: least, max: schema.maximum ?? 1000 })
    case 'number':
      return fc.double({
        min: least,
        max: schema.maximum ?? 1000,
        minExcluded: schema.exclusiveMinimum !== undefined,
        noNaN: true,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, all), { maxLength: 3 })
    case 'object': {
      const { properties = {}, required = [], additionalProperties } = schema
      const named = fc.record(
        Object.fromEntries(Object.entries(properties).map(([key, held]) => [key, valuesOf(held, all)])),
        { requiredKeys: required },
      )
      if (typeof additionalProperties !== 'object') return named
      return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), valuesOf(additionalProperties, all), {
        maxKeys: 3,
      })
    }
    default:
      return fc.jsonValue()
  }
}

/** Anything at all, for places that take something else. */
export const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    null,
    true,
    -1,
    1e308,
    '',
    '\0',
    '__proto__',
    [],
    {},
    { __proto__: null },
    'x'.repeat(5000),
  ),
)
