import type { z } from 'zod'
import { configSchema } from './schema.js'
import { childOf, isSecret, type KeyStyle, kindOf, shapeOf, walkPath } from './walk.js'

/** Whether a value or a part of it may be secret. A user who confuses two keys may write a secret under the wrong one. */
export function mayHoldSecret(schema: z.core.$ZodType): boolean {
  const kind = kindOf(schema)
  if (kind === 'object') return Object.values(shapeOf(schema)).some(mayHoldSecret)
  if (kind === 'record' || kind === 'array') return mayHoldSecret(childOf(schema, '') as z.core.$ZodType)
  return isSecret(schema)
}

/** The path in a form that can be shown: an unknown key of a proxy user may be a password. */
export function maskedPath(path: readonly string[], spelling: KeyStyle): readonly string[] {
  const [section, key, index, field] = path
  if (section !== 'proxy' || key !== 'users' || index === undefined || field === undefined) return path
  const { schema } = walkPath(configSchema, path.slice(0, 3), spelling)
  return childOf(schema, field) === undefined ? [section, key, index, '***'] : path
}
