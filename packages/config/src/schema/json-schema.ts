import { z } from 'zod'
import { fieldInfo } from './fields.js'
import { configSchema } from './schema.js'

/** The schema of the config file for editors: JSON Schema, draft 2020-12. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema: target }) {
      const info = fieldInfo.get(zodSchema as never)
      if (info?.jsonSchema === undefined) return
      const { description } = target
      for (const key of Object.keys(target)) delete target[key]
      Object.assign(target, structuredClone(info.jsonSchema), description !== undefined && { description })
    },
  })
  return {
    ...schema,
    title: 'Holdfast configuration',
  }
}
