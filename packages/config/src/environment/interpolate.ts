import type { z } from 'zod'
import { childOf, kindOf } from '../schema/walk.js'

/** The environment: names and their values. */
export interface Environment {
  readonly [name: string]: string | undefined
}

/** Replaces variables in a value, and gives those that came from them the type that the place takes. */
export type Interpolate = (
  schema: z.core.$ZodType | undefined,
  value: unknown,
  path: readonly string[],
) => unknown

const VARIABLE_PATTERN = /\$\{([^}]*)\}/g
const VARIABLE_NAME_PATTERN = /^([a-z_]\w*)(?::-(.*))?$/is

/**
 * Makes the function that replaces `${VAR}` and `${VAR:-default}`.
 *
 * @param onValue - told of each place whose value is the environment's, which must never be shown
 * @param onMissing - told of each variable that is not there
 */
export function createInterpolate(
  env: Environment,
  onValue: (path: readonly string[]) => void,
  onMissing: (path: readonly string[], message: string) => void,
): Interpolate {
  return (schema, value, path) => {
    if (typeof value !== 'string' || !value.includes('${')) return value
    let replaced = false
    let hasMissing = false
    const text = value.replace(VARIABLE_PATTERN, (whole, inside: string) => {
      const [, name, fallback] = VARIABLE_NAME_PATTERN.exec(inside) ?? []
      if (name === undefined) {
        hasMissing = true
        onMissing(path, `got ${JSON.stringify(whole)}, takes \${NAME} or \${NAME:-default}`)
        return whole
      }
      const found = Object.hasOwn(env, name) ? env[name] : undefined
      replaced = true
      if (found !== undefined && found !== '') return found
      if (fallback !== undefined) return fallback
      if (found === undefined) {
        hasMissing = true
        onMissing(
          path,
          `reads the variable ${name}, which is not set (set it, or write \${${name}:-default})`,
        )
      }
      return found ?? ''
    })
    // What is told of already is not told of once more for what it is without the variable.
    if (hasMissing) return undefined
    if (!replaced) return value
    onValue(path)
    return schema === undefined ? parseScalar(text) : parseForSchema(schema, text)
  }
}

/** Words that stand for a number or a boolean, as YAML reads them. */
export function parseScalar(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text)
  if (text === '.inf' || text === 'Infinity') return Number.POSITIVE_INFINITY
  return text
}

/** A variable's text as the type that a place takes: a list may be JSON or have commas. */
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
