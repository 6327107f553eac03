import { z } from 'zod'

/**
 * Adds descriptions to the fields of an object schema, for OpenAPI and the reference. It changes no type and no check. A schema
 * that two fields share can have only one description.
 */
export function describeFields<S extends z.ZodObject>(
  schema: S,
  descriptions: { readonly [Field in keyof S['shape']]: string },
): S {
  for (const [name, description] of Object.entries(descriptions)) {
    const field = schema.shape[name] as z.ZodType
    const known = z.globalRegistry.get(field)
    if (known?.description !== undefined && known.description !== description)
      throw new Error(`the field ${name} shares its schema with a field that has another description`)
    z.globalRegistry.add(field, { ...known, description })
  }
  return schema
}
