/** What a column of text does not give back as it was: one driver ends a text at NUL, and half a pair is no UTF-8. */
const AWKWARD = /[\0\\]|\p{Surrogate}/gu

const escaped = (unit: string) =>
  unit === '\\' ? '\\\\' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Quick to ask, and hardly ever true. */
const SUSPECT = /[\0\\\ud800-\udfff]/

/** A name as a column holds it. Different names stay different, and a name's beginning is its text's beginning. */
export const toColumn = (name: string): string => (SUSPECT.test(name) ? name.replace(AWKWARD, escaped) : name)

/**
 * A small number for a name (FNV-1a). Names come in no order, and an index on them would touch a page for each; one on
 * small numbers has few pages. Whoever finds by number compares names.
 */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash | 0
}

/** The name that a column holds. */
export const fromColumn = (text: string): string =>
  text.replace(/\\(?:\\|u([0-9a-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  )
