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

const VARIABLE = /\$\{([^}]*)\}/g
const NAME = /^([a-z_]\w*)(?::-(.*))?$/is

/**
 * Makes the function that replaces `${VAR}` and `${VAR:-default}`.
 *
 * @param onValue - told of each place whose value is the environment's, which must never be shown
 * @param onMissing - told of each variable that is not there
 */
export function interpolation(
  env: Environment,
  onValue: (path: readonly string[]) => void,
  onMissing: (path: readonly string[], message: string) => void,
): Interpolate {
  return (schema, value, path) => {
    if (typeof value !== 'string' || !value.includes('${')) return value
    let replaced = false
    let missing = false
    const text = value.replace(VARIABLE, (whole, inside: string) => {
      const [, name, fallback] = NAME.exec(inside) ?? []
      if (name === undefined) {
        missing = true
        onMissing(path, `got ${JSON.stringify(whole)}, takes \${NAME} or \${NAME:-default}`)
        return whole
      }
      const found = Object.hasOwn(env, name) ? env[name] : undefined
      replaced = true
      if (found !== undefined && found !== '') return found
      if (fallback !== undefined) return fallback
      if (found === undefined) {
        missing = true
        onMissing(
          path,
          `reads the variable ${name}, which is not set (set it, or write \${${name}:-default})`,
        )
      }
      return found ?? ''
    })
    // What is told of already is not told of once more for what it is without the variable.
    if (missing) return undefined
    if (!replaced) return value
    onValue(path)
    return schema === undefined ? scalarOf(text) : typedFor(schema, text)
  }
}

/** Words that stand for a number or a boolean, as YAML reads them. */
export function scalarOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text)
  if (text === '.inf' || text === 'Infinity') return Number.POSITIVE_INFINITY
  return text
}

/** A variable's text as the type that a place takes: a list may be JSON or have commas. */
export function typedFor(schema: z.core.$ZodType, text: string): unknown {
  const kind = kindOf(schema)
  if (kind === 'text') return text
  if (kind !== 'array') return scalarOf(text)
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
    .map((item) => typedFor(childOf(schema, '') ?? schema, item))
}
