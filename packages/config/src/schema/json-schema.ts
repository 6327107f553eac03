import { z } from 'zod'
import { CURRENT_VERSION } from '../version.js'
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
  const { $schema, ...rest } = schema
  return {
    $schema,
    $id: `urn:holdfast:config:${CURRENT_VERSION}`,
    title: 'Holdfast configuration',
    description:
      'The config file of Holdfast. In YAML and JSON, durations are numbers of seconds or texts such as 500ms, 30s or 5m.',
    ...rest,
  }
}
