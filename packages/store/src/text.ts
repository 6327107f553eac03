import { createHash } from 'node:crypto'

/** Characters that a text column does not preserve: a driver ends a text at NUL, and a lone surrogate is not valid UTF-8. */
const ESCAPED_CHARACTERS = /[\0\\]|\p{Surrogate}/gu

const escapeUnit = (unit: string) =>
  unit === '\\' ? '\\\\' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A fast check that is rarely true. It also matches surrogate pairs, which are not escaped. */
const MAY_NEED_ESCAPES = /[\0\\\ud800-\udfff]/

/** A name in the form of a text column. Different names have different texts, and a prefix of a name is a prefix of its text. */
export const toColumn = (name: string): string =>
  MAY_NEED_ESCAPES.test(name) ? name.replace(ESCAPED_CHARACTERS, escapeUnit) : name

/**
 * A small hash of a name (FNV-1a). Names arrive in no order, so that an index on them would touch one page per name; an index on
 * small numbers has few pages. A query by hash must compare the names too.
 */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash | 0
}

/** The name that was written with {@link toColumn}. */
export const fromColumn = (text: string): string =>
  text.replace(/\\(?:\\|u([0-9a-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  )

/** A hash of 16 bytes for a name of any length: half of its SHA-256, for which collisions cannot be constructed. */
export const hashName = (name: string): string =>
  createHash('sha256').update(toColumn(name)).digest('hex').slice(0, 32)
