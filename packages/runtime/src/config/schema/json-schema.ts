import { z } from 'zod'
import { said } from './leaf.js'
import { configSchema } from './schema.js'

/** The schema of the config file for editors: JSON Schema, draft 2020-12. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema: made }) {
      const words = said.get(zodSchema as never)
      if (words?.json === undefined) return
      const { description } = made
      for (const key of Object.keys(made)) delete made[key]
      Object.assign(made, structuredClone(words.json), description !== undefined && { description })
    },
  })
  return {
    ...schema,
    title: 'Holdfast configuration',
  }
}
