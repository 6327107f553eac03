import { FIELDS } from './fields.js'

/** Texts that YAML reads as text without quotes. */
const PLAIN_TEXT = /^[A-Za-z][\w ./-]*$/

/** Words that YAML reads as another type. */
const RESERVED_WORDS = /^(true|false|yes|no|on|off|null|y|n)$/i

const NUMERIC_FIELDS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ kind }) => kind === 'number' || kind === 'seconds').map(({ name }) => name),
)

function formatScalar(value: unknown, isNumeric = false): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  if (isNumeric && value === 'Infinity') return '.inf'
  const isPlain = PLAIN_TEXT.test(value) && !RESERVED_WORDS.test(value) && value.trim() === value
  return isPlain ? value : JSON.stringify(value)
}

function* formatEntries(values: Record<string, unknown>, indent: string, part = ''): Iterable<string> {
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || (value === null && part !== '')) continue
    if (Array.isArray(value)) yield `${indent}${key}: [${value.map((one) => formatScalar(one)).join(', ')}]`
    else if (typeof value === 'object' && value !== null) {
      yield `${indent}${key}:`
      yield* formatEntries(value as Record<string, unknown>, `${indent}  `, `${part}${key}.`)
    } else yield `${indent}${key}: ${formatScalar(value, NUMERIC_FIELDS.has(part + key))}`
  }
}

/** A policy as it is written in a config file. */
export const toYaml = (id: string, policy: Record<string, unknown>): string =>
  ['policies:', `  ${formatScalar(id)}:`, ...formatEntries(policy, '    ')].join('\n')
