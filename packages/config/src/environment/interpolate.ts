import type { z } from 'zod'
import { mismatch, type ProblemFacts } from '../problems/problem.js'
import { childOf, kindOf } from '../schema/walk.js'

/** The environment: names and their values. */
export interface Environment {
  readonly [name: string]: string | undefined
}

/** Replaces variables in a value, and converts the result to the type that the schema expects. */
export type Interpolate = (
  schema: z.core.$ZodType | undefined,
  value: unknown,
  path: readonly string[],
) => unknown

const VARIABLE_PATTERN = /\$\{([^}]*)\}/g
const VARIABLE_NAME_PATTERN = /^([a-z_]\w*)(?::-(.*))?$/is

/**
 * Creates the function that replaces `${VAR}` and `${VAR:-default}`.
 *
 * @param onValue - receives each path whose value comes from the environment and must never be shown
 * @param onMissing - receives each variable that is not set
 */
export function createInterpolate(
  env: Environment,
  onValue: (path: readonly string[]) => void,
  onMissing: (path: readonly string[], facts: ProblemFacts) => void,
): Interpolate {
  return (schema, value, path) => {
    if (typeof value !== 'string' || !value.includes('${')) return value
    let hasReplaced = false
    let hasMissing = false
    const text = value.replace(VARIABLE_PATTERN, (whole, inside: string) => {
      const [, name, fallback] = VARIABLE_NAME_PATTERN.exec(inside) ?? []
      if (name === undefined) {
        hasMissing = true
        onMissing(path, mismatch('${NAME} or ${NAME:-default}', JSON.stringify(whole)))
        return whole
      }
      const found = Object.hasOwn(env, name) ? env[name] : undefined
      hasReplaced = true
      if (found !== undefined && found !== '') return found
      if (fallback !== undefined) return fallback
      if (found === undefined) {
        hasMissing = true
        onMissing(path, { code: 'not_set', expected: 'a value', got: name })
      }
      return found ?? ''
    })
    // A missing variable is already reported, so its value is not checked as well.
    if (hasMissing) return undefined
    if (!hasReplaced) return value
    onValue(path)
    return schema === undefined ? parseScalar(text) : parseForSchema(schema, text)
  }
}

/** Parses numbers and booleans as YAML does. */
export function parseScalar(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text)
  if (text === '.inf' || text === 'Infinity') return Number.POSITIVE_INFINITY
  return text
}

/** Converts a variable's text to the type that a schema expects. A list can be JSON or comma-separated. */
export function parseForSchema(schema: z.core.$ZodType, text: string): unknown {
  const kind = kindOf(schema)
  if (kind === 'text') return text
  if (kind !== 'array') return parseScalar(text)
  if (text.trimStart().startsWith('['))
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => parseForSchema(childOf(schema, '') ?? schema, item))
}
